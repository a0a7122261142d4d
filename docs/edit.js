/* "Edit me" below every picture that a fence drew: its layout in the explorer, which `make docs` puts beside these pages;
   and the links of questions and puzzles, which begin in it. */
{
  const explorer = new URL("explore.html", document.currentScript.src);
  for (const figure of document.querySelectorAll("figure.cutepy[data-layout]")) {
    const link = document.createElement("a");
    link.className = "cutepy-edit";
    link.textContent = "edit me";
    link.title = `${figure.dataset.layout} in the explorer, in a new tab`;
    link.target = "_blank";
    link.rel = "noopener";
    link.href = `${explorer}#${figure.dataset.explore}`;
    figure.append(link);
  }
  for (const link of document.querySelectorAll("a.cutepy-try[data-explore]")) link.href = `${explorer}#${link.dataset.explore}`;
}
