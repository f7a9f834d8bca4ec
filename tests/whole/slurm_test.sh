#!/bin/sh
# slurm_test.sh LANGEVIN DOCS: the script of DOCS/sweeps.md on a real Slurm cluster of one node, which is started here,
# in a private directory and on loopback. One task is told to end, as at its time limit; one is killed with -9 and
# requeued; one is requeued while it runs; one is canceled, and its runs submitted again. The records must be those of a
# sweep without Slurm, byte for byte. Exit code 77: there is no Slurm here.
set -u
langevin=$(realpath "$1")
docs=$(realpath "$2")

skip() {
  echo "skipped: $1"
  exit 77
}
for program in munged slurmctld slurmd sbatch scontrol squeue scancel; do
  PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip "$program is not installed; make test-slurm installs it"
done
PATH=$PATH:/usr/sbin
[ "$(id -u)" = 0 ] || skip "a cluster of one's own needs root"

unset SLURM_CONF # a cluster that is there already is left alone
work=$(mktemp -d /tmp/langevin-slurm-XXXXXX)
pids=""
clean() {
  if [ -n "${SLURM_CONF:-}" ]; then # jobs outlive the daemons that started them
    scancel --user=root 2>/dev/null
    for _ in 1 2 3 4 5 6 7 8 9 10; do [ -z "$(squeue -h 2>/dev/null)" ] || sleep 1; done
  fi
  for pid in $pids; do kill "$pid" 2>/dev/null; done
  for pid in $pids; do
    for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" 2>/dev/null && sleep 0.2; done
    kill -9 "$pid" 2>/dev/null
  done
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM

fail() {
  echo "FAILED: $1"
  tail -n 20 "$work"/slurmctld.log "$work"/slurmd.log "$work"/slurm-*.out 2>/dev/null
  exit 1
}

# wait_until SECONDS COMMAND...
wait_until() {
  left=$(($1 * 5))
  shift
  until "$@"; do
    left=$((left - 1))
    [ $left -gt 0 ] || return 1
    sleep 0.2
  done
}

# ---- The cluster ----
mkdir -m 755 "$work/munge" "$work/state" "$work/spool"
chmod 755 "$work"
dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 2>/dev/null
chmod 400 "$work/munge/key"
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --seed-file="$work/munge/seed" --log-file="$work/munge/log" >"$work/munged.log" 2>&1 &
pids="$!"
wait_until 10 test -S "$work/munge/socket" || skip "munged does not start: $(cat "$work/munged.log")"

# Two ports that nobody listens on.
ports=$(python3 -c 'import socket
s = [socket.socket() for _ in "12"]
for x in s: x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))') || skip "no python3"
host=$(hostname -s)
cat >"$work/slurm.conf" <<END
ClusterName=langevin
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports% *}
SlurmdPort=${ports#* }
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$work/munge/socket,cred_expire=5
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=100000,bf_interval=1
ReturnToService=2
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$work/slurm.conf"
slurmctld -D >"$work/slurmctld-start.log" 2>&1 &
pids="$pids $!"
slurmd -D >"$work/slurmd-start.log" 2>&1 &
pids="$pids $!"
node_is_up() { sinfo -h -o %T 2>/dev/null | grep -q -E '^(idle|mixed)'; }
wait_until 30 node_is_up || {
  cat "$work"/slurm*.log
  skip "the cluster does not start on this machine"
}

# ---- The sweep: eight runs, a task each ----
cat >"$work/s.yaml" <<END
seeds: {first: 3, count: 2}
run: {checkpoint_every: 500}
cases:
  - {env: {name: nchain, n: 20}, agent: adam-lmcdqn, run: {steps: 40000, eval_every: 4000, checkpoint_final: true}}
  - {env: {name: cartpole}, agent: dqn, run: {steps: 20000, eval_every: 4000}}
  - {env: {name: riverswim, n: 6, horizon: 10}, agent: lmc-lsvi, run: {episodes: 6000}, grid: {agent.lambda: [1, 0.1]}}
END
"$langevin" sweep "$work/s.yaml" --out "$work/alone" --quiet >"$work/alone.log" 2>&1 || fail "the sweep without Slurm"

# The first block of code after the heading.
sed -n '/^## Slurm/,/^## /{/^```sh/,/^```$/p}' "$docs/sweeps.md" | sed '/^```/d' >"$work/array.sh"
[ "$(head -n 1 "$work/array.sh")" = '#!/bin/sh' ] || fail "no script in $docs/sweeps.md"
mkdir "$work/bin"
ln -s "$langevin" "$work/bin/langevin"
PATH=$work/bin:$PATH
cd "$work" || exit 1
unfinished() { langevin sweep s.yaml --out sweep --unfinished 2>/dev/null; }
submit() { sbatch --array="$(unfinished)" --cpus-per-task=1 array.sh s.yaml --out sweep; }
submit || fail "submission"

# Processes that work on a run which has a checkpoint, by their locks: `process PID on HOST`.
workers() {
  for lock in "$work"/sweep/*/seed-*/lock; do
    [ -f "${lock%lock}checkpoint.safetensors" ] && sed -n 's/^process \([0-9]*\) on .*/\1/p' "$lock" 2>/dev/null
  done
}
# The task of the array that a process belongs to: 1_2. (The raw id of one of them means the whole array.)
job_of() {
  tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | sort | sed -n 's/^SLURM_ARRAY_\(JOB\|TASK\)_ID=//p' | paste -s -d _
}

# The job of a process that works, other than the jobs in $disturbed: $job and $worker.
disturbed=""
find_job() {
  for worker in $(workers); do
    job=$(job_of "$worker")
    case " $disturbed " in *" $job "*) ;; *) [ -n "$job" ] && return 0 ;; esac
  done
  return 1
}
next_job() {
  wait_until 60 find_job || fail "no further run has begun: $(squeue)"
  disturbed="$disturbed $job"
}

next_job
told=$job
echo "job $told is told that its time is up"
kill -TERM "$(ps -o ppid= -p "$worker" | tr -d ' ')" # the script of the job, as --signal=B:TERM does
next_job
killed=$job
echo "process $worker of job $killed is killed"
kill -9 "$worker"
next_job
echo "job $job is requeued while it runs"
scontrol requeue "$job" || fail "job $job cannot be queued again"
next_job
canceled=$job
echo "job $canceled is canceled"
scancel "$canceled"

# job_is ID PATTERN
job_is() { scontrol show job "$1" -o | grep -q -E "$2"; }
wait_until 30 job_is "$told" ' Restarts=1 ' || fail "job $told has not asked to be queued again"
wait_until 30 job_is "$killed" 'JobState=FAILED' || fail "job $killed goes on without its process"
scontrol requeue "$killed" || fail "job $killed cannot be queued again"

queue_is_empty() { [ -z "$(squeue -h)" ]; }
wait_until 240 queue_is_empty || fail "the queue does not empty: $(squeue)"
job_is "$canceled" 'JobState=CANCELLED' || fail "job $canceled did not stay canceled"
rest=$(unfinished)
[ -n "$rest" ] || fail "the canceled job did all its runs"
echo "runs $rest are submitted again"
submit >/dev/null || fail "the second submission"
wait_until 240 queue_is_empty || fail "the queue does not empty: $(squeue)"
rest=$(unfinished)
[ -z "$rest" ] || fail "runs $rest have not finished"
"$langevin" sweep "$work/s.yaml" --out "$work/sweep" --merge >"$work/merge.log" 2>&1 || fail "--merge"
diff -r --exclude=timing.json --exclude='events.out.*' "$work/alone" "$work/sweep" || fail "the records differ"
files=$(find "$work/sweep" -name summary.json | wc -l)
[ "$files" = 8 ] || fail "$files runs of 8"
echo "8 runs, the same records as without Slurm"
