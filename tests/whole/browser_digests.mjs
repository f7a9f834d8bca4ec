// browser_digests.mjs LANGEVIN_JS WASM EPISODES <CASES: what browser_digests.c prints, by WebAssembly in node.
import fs from "node:fs";

const [script, wasm, episodes] = process.argv.slice(2);
const Langevin = new Function(fs.readFileSync(script, "utf8") + "; return Langevin;")();
const library = new Langevin(fs.readFileSync(wasm));
for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) {
  let answer;
  try {
    const learner = library.learner(line.split(" "), 1, 1000);
    for (let i = 0; i < Number(episodes); i++) learner.play();
    answer = learner.digest;
    learner.free();
  } catch (error) {
    answer = error.message;
  }
  console.log(`${line}: ${answer}`);
}
