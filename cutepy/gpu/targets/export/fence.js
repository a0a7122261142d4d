// Makes the Run buttons of a page's kernels work, and does no harm twice. A button says so where there is no WebGPU.
RUN
const startRuns = () => document.querySelectorAll(".cutepy-run:not([data-ready])").forEach((box) => {
  const button = box.querySelector("button"), said = box.querySelector("[role=status]"), figures = box.querySelector(".cutepy-ran");
  const { module, ...data } = JSON.parse(box.querySelector("script").textContent);
  const lacks = () => {
    button.textContent = "No WebGPU in this browser";
    button.disabled = true;
    box.dataset.result = "none";
  };
  box.dataset.ready = "";
  button.hidden = false;
  if (!navigator.gpu) lacks();
  button.addEventListener("click", async () => {
    button.setAttribute("aria-busy", "true");
    said.textContent = "Running on this machine's GPU.";
    const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
    try {
      if (!(await navigator.gpu.requestAdapter())) return void lacks(said.textContent = "This browser has WebGPU, but no GPU for it.");
      const ran = await runExported(data, await import(url));
      said.textContent = ran.said;
      figures.textContent = ran.lines.join("\n");
      figures.hidden = false;
      box.dataset.result = ran.right ? "right" : "wrong";
    } catch (error) {
      said.textContent = `Not run: ${error.message}`;
      box.dataset.result = "failed";
    } finally {
      URL.revokeObjectURL(url);
      button.removeAttribute("aria-busy");
    }
  });
});
// The script stands with the first button; the others come after it.
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", startRuns);
else startRuns();
