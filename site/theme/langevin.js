// The library in the browser, or in node: a WebAssembly module (cmake/browser.cmake) with the functions of
// site/browser/page.h.
class Langevin {
  constructor(bytes) {
    const module = new WebAssembly.Module(bytes), imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module))
      (imports[from] ??= {})[name] = (...args) => this.system(name, args);
    this.calls = new WebAssembly.Instance(module, imports).exports;
    this.calls._initialize();
  }

  // What the C library asks of a system: there are no variables, and everything else is refused.
  system(name, [count, size]) {
    const NOT_SUPPORTED = 58;
    if (name == "proc_exit") throw new Error("the library gave up");
    if (name != "environ_sizes_get" && name != "environ_get") return NOT_SUPPORTED;
    if (name == "environ_sizes_get") for (const place of [count, size]) new DataView(this.memory).setUint32(place, 0, true);
    return 0;
  }

  get memory() { return this.calls.memory.buffer; } // another one each time that it grows

  get text() {
    const bytes = new Uint8Array(this.memory, this.calls.page_text());
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }

  set text(text) { new Uint8Array(this.memory, this.calls.page_text()).set(new TextEncoder().encode(text + "\0")); }

  // settings: ["env.name=deepsea", "agent.name=dqn", ...]
  learner(settings, seed, episodes) {
    this.text = settings.join("\n");
    return new Learner(this, this.check(this.calls.page_create(seed, episodes)));
  }

  // Of a call that answers 0 or NaN if it fails.
  check(answer) {
    if (answer === 0 || Number.isNaN(answer)) throw new Error(this.text);
    return answer;
  }
}

class Learner {
  constructor(library, place) {
    Object.assign(this, { library, place, episodes: 0 });
    this.states = library.calls.page_states(place);
  }

  call(name) { return this.library.calls["page_" + name](this.place); }

  // Plays one episode and returns its return.
  play() {
    const total = this.call("episode");
    if (Number.isNaN(total)) throw new Error(this.library.text);
    this.episodes++;
    return total;
  }

  get values() { return new Float64Array(this.library.memory, this.library.check(this.call("values")), this.states); }
  get visits() { return new Float64Array(this.library.memory, this.call("visits"), this.states); }
  get path() { return new Int32Array(this.library.memory, this.call("path"), this.call("path_length")); }

  get digest() {
    this.library.check(this.call("digest"));
    return this.library.text;
  }

  free() { this.call("free"); }
}
