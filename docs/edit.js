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
  /* The theme makes the buttons of each code a landmark without a name, and the parts of a page's contents landmarks
     of which two may have one name; tables and codes that scroll no keyboard reaches, and the empty corner of a table
     is no heading. */
  const grouped = () => {
    document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((nav) => nav.setAttribute("aria-label", `Buttons of ${nav.parentNode.id}`));
    document.querySelectorAll(".md-nav--secondary .md-nav:not([data-numbered])").forEach((nav, k) => {
      nav.setAttribute("aria-label", `${nav.getAttribute("aria-label")}, part ${(nav.dataset.numbered = k + 1)} of the contents`);
    });
    document.querySelectorAll("th:not([role])").forEach((cell) => cell.textContent.trim() || cell.setAttribute("role", "none"));
    document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex]), pre > code:not([tabindex])").forEach((box) => (box.tabIndex = 0));
  };
  new MutationObserver(grouped).observe(document.documentElement, { childList: true, subtree: true });
  grouped();
  for (const link of document.querySelectorAll("a.cutepy-try[data-explore]")) link.href = `${explorer}#${link.dataset.explore}`;
}
