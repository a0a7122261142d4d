/* Search from a folder: a browser starts no worker from file://, so there the worker's script runs in a hidden frame.
   The name is the one that Zensical looks for; without such a file it would load one from elsewhere. */
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.onmessage && this.onmessage({ data }));
      this.ready = new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        script.src = String(url);
        script.onload = done;
        script.onerror = failed;
        inside.document.body.append(script);
      });
      this.ready.catch((error) => this.onerror && this.onerror(error));
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.onmessage({ data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
