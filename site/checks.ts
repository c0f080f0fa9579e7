/** Largest size of the first page with its style and script, in bytes. */
const maxFirstPage = 200_000;

function anchorsOf(html: string): Set<string> {
  return new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id));
}

/** Links that lead to no file or to no heading. */
function findDeadLinks(files: ReadonlyMap<string, string>): string[] {
  const anchors = new Map([...files].map(([file, html]) => [file, anchorsOf(html)]));
  return [...files].flatMap(([file, html]) =>
    [...html.matchAll(/ href="([^"]*)"/g)].flatMap(([, href = ""]) => {
      if (/^[a-z]+:/i.test(href) || href === "style.css") return [];
      const [target = "", anchor] = href.split("#");
      const found = anchors.get(target === "" ? file : target);
      const isAlive = found !== undefined && (anchor === undefined || found.has(decodeURIComponent(anchor)));
      return isAlive ? [] : [`${file}: the link ${href} leads nowhere`];
    }),
  );
}

/** Lines of tables that were not understood as such. */
function findBrokenTables(files: ReadonlyMap<string, string>): string[] {
  return [...files].flatMap(([file, html]) => {
    const prose = html.replaceAll(/<pre[\s\S]*?<\/pre>/g, "").replaceAll(/<code>[\s\S]*?<\/code>/g, "");
    return [...prose.matchAll(/(?:^|<p>)\|[^\n]*/gm)].map(([line]) => `${file}: no table: ${line.slice(0, 80)}`);
  });
}

/**
 * What is wrong with the site.
 *
 * @param files HTML by file.
 * @param assets Bytes of what the first page loads.
 */
export function findProblems(files: ReadonlyMap<string, string>, assets: number): string[] {
  const size = Buffer.byteLength(files.get("index.html") ?? "") + assets;
  const large = size > maxFirstPage ? [`The first page has ${size} bytes, more than ${maxFirstPage}`] : [];
  return [...findDeadLinks(files), ...findBrokenTables(files), ...large];
}
