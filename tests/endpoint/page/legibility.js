// An expression for the browser: what can be pressed and has no name, and what is written or drawn with less contrast
// than WCAG 2.1 asks for (4.1.2, 1.4.3 and 1.4.11), as a list of texts.
(() => {
  const visible = (each) => each.getClientRects().length > 0;
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const linear = color.slice(0, 3).map((each) => each / 255).map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const contrast = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const ground = (each) => {
    for (let at = each; at !== null; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const each of [...document.querySelectorAll("button, select, input, textarea, a, summary, [tabindex='0']")].filter(visible)) {
    const named = each.innerText || each.labels?.length || each.ariaLabel || each.hasAttribute("aria-labelledby");
    if (!named) found.push(`no name: ${each.outerHTML.slice(0, 100)}`);
  }
  const written = "#figure .line, #figure .tick, .legend .name, .legend .value, .readout, .note, dt, dd, td span, .badge, button, label";
  for (const each of [...document.querySelectorAll(written)].filter(visible)) {
    const style = getComputedStyle(each);
    const inDrawing = each.ownerSVGElement !== undefined;
    const line = inDrawing && each.classList.contains("line");
    const made = contrast(channels(line ? style.stroke : inDrawing ? style.fill : style.color), ground(inDrawing ? each.ownerSVGElement.parentElement : each));
    if (made < (line ? 3 : 4.5)) found.push(`contrast ${made.toFixed(2)}: ${each.outerHTML.slice(0, 100)}`);
  }
  return found;
})();
