// The plan of a query (GET /queries/NAME/plan): sections, and in them lines that are indented below others.

/**
 * The sections of a plan, in their order.
 * @returns {{title: string, detail: string, lines: string[]}[]} `detail` is what stands in brackets behind the title;
 *   the lines are without the indentation that all of them have. What stands before the first section has no title
 */
export function sectionsOf(text) {
  const sections = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") {
      sections.at(-1)?.lines.push("");
    } else if (line.startsWith("  ")) {
      if (sections.length === 0) sections.push({ title: "", detail: "", lines: [] });
      sections.at(-1).lines.push(line.slice(2));
    } else {
      const match = /^(.*?)(?: \((.*)\))?$/.exec(line);
      sections.push({ title: match[1], detail: match[2] ?? "", lines: [] });
    }
  }
  for (const { lines } of sections) while (lines.at(-1) === "") lines.pop();
  return sections;
}

/**
 * The tree that indented lines are: a line is below the last one that is indented less.
 * @returns {{text: string, note: string, children: object[]}[]} `note` is what a line says behind a `#`: rows
 */
export function treeOf(lines) {
  const roots = [];
  const open = [];
  for (const line of lines.filter((each) => each.trim() !== "")) {
    const depth = line.length - line.trimStart().length;
    const [, text, note = ""] = /^(.*?)(?:\s{3}# (.*))?$/.exec(line.trim());
    const node = { text, note, children: [] };
    while (open.length > 0 && open.at(-1).depth >= depth) open.pop();
    (open.at(-1)?.node.children ?? roots).push(node);
    open.push({ depth, node });
  }
  return roots;
}
