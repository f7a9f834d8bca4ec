/* export: a trained policy as one C file, or its network as a feature map. */
#include "cli.h"

#include <assert.h>
#include <string.h>

enum { OUT, NAME, INT8 };

static const cli_option options[] = {
    [OUT] = {"out", 'o', "FILE", "the file to write, such as policy.c or net.safetensors"},
    [NAME] = {"name", 0, "NAME", "the prefix of its functions (default policy)"},
    [INT8] = {"int8", 0, NULL, "round the weights of a network to 8 bits, for small machines"},
    {0},
};

typedef struct request {
  const char *path, *out, *name;
  bool int8;
} request;

static void parse(cli_args *args, request *r) {
  while (cli_next(args)) {
    switch (cli_which(args)) {
    case OUT: r->out = args->value; break;
    case NAME: r->name = args->value; break;
    case INT8: r->int8 = true; break;
    default:
      if (r->path)
        cli_reject(args, "one run at a time: '%s' or '%s'?", r->path, args->value);
      else
        r->path = args->value;
    }
  }
  if (args->stopped) return;
  if (!r->path)
    cli_reject(args, "which run? name its directory, or a checkpoint");
  else if (!r->out)
    cli_reject(args, "where to? --out policy.c");
}

static bool is_network(const char *path) {
  const char *end = strrchr(path, '.');
  return end && strcmp(end, ".safetensors") == 0;
}

static int export_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  request r = {.name = "policy"};
  lgv_error err = {0};
  lgv_trained *trained;
  parse(&args, &r);
  if (args.stopped) return args.exit_code;
  assert(r.path && r.out);
  if (lgv_trained_open(r.path, 0, false, &trained, &err) != LGV_OK) return cli_error(command, &err);
  lgv_agent *agent = lgv_trained_agent(trained);
  lgv_status status = r.int8 ? lgv_agent_export_int8(agent, r.out, r.name, &err)
                             : lgv_agent_export(agent, r.out, r.name, &err);
  lgv_trained_free(trained);
  if (status != LGV_OK) return cli_error(command, &err);
  if (is_network(r.out))
    cli_say(stdout, "wrote %s: -s agent.features=network -s features.file=%s\n", r.out, r.out);
  else
    cli_say(stdout, "wrote %s: %s_act chooses actions\n", r.out, r.name);
  return CLI_OK;
}

const cli_command cli_export = {
    .name = "export",
    .summary = "a trained policy as one C file without dependencies",
    .usage = "DIR --out FILE [--name NAME] [--int8]",
    .options = options,
    .notes =
        "DIR is the directory of a run, a checkpoint in it, or an agent that Python saved. The "
        "file is C99: weights and a forward pass, or a table where states are finite; NAME_act "
        "gives an action that a mask allows, NAME_q the values of all choices (not for continuous "
        "actions). Random draws of evaluations (noise, quantiles, a member) are replaced by their "
        "mean, or by the members' vote if agent.eval is vote. A FILE.safetensors gets the network "
        "up "
        "to its last hidden layer instead, for linear agents with agent.features = network.",
    .main = export_main,
};
