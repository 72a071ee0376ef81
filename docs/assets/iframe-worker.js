// A worker for pages that were opened as files, where browsers start none: its script runs in a hidden frame.
// It is as much of one as the site's search needs: messages both ways, and no scripts of its own beside the first.
"use strict";
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise((resolve) => {
        this.frame.onload = () => {
          const inside = this.frame.contentWindow;
          // What the script posts goes to whoever listens here, and not to its own frame.
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const element = inside.document.createElement("script");
          element.src = new URL(script, document.baseURI);
          element.onload = () => resolve(inside);
          inside.document.body.append(element);
        };
      });
      document.body.append(this.frame);
    }
    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
