// Browsers start no worker in a page that was opened from a folder. There, the search's worker runs in a hidden frame instead.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #ready;

    constructor(address) {
      super();
      this.#frame.hidden = true;
      this.#ready = new Promise((resolve, reject) => {
        const begin = () => {
          document.body.append(this.#frame);
          const inside = this.#frame.contentWindow;
          // what a worker posts to its page arrives at the parent of the frame
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          inside.importScripts = (...addresses) =>
            addresses.reduce((before, each) => before.then(() => load(inside, each)), Promise.resolve());
          load(inside, address).then(() => resolve(inside), reject);
        };
        document.body ? begin() : addEventListener("DOMContentLoaded", begin);
      });
    }

    postMessage(data) {
      this.#ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };

function load(inside, address) {
  return new Promise((resolve, reject) => {
    const script = inside.document.createElement("script");
    script.src = new URL(address, location.href).href;
    script.onload = resolve;
    script.onerror = reject;
    inside.document.body.append(script);
  });
}
