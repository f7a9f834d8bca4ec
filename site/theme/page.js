// Formulas of the sources, which the page holds as TeX.
for (const element of document.querySelectorAll(".formula"))
  katex.render(element.textContent, element, { displayMode: element.tagName == "DIV", throwOnError: false });

// Blocks that are wider than the screen can be scrolled by the keyboard.
function reachWideBlocks() {
  for (const block of document.querySelectorAll(".md-typeset__scrollwrap, pre > code, div.formula"))
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
    else block.removeAttribute("tabindex");
}
addEventListener("load", reachWideBlocks);
addEventListener("resize", reachWideBlocks);
