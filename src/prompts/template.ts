/** A tag for a value; an empty path is the current value. */
interface VariableNode {
  readonly kind: "variable";
  readonly path: readonly string[];
}

/** Rendered for each item of a list, once for a value or, if inverted, once without one. */
export interface SectionNode {
  readonly kind: "section";
  readonly path: readonly string[];
  readonly inverted: boolean;
  readonly nodes: readonly TemplateNode[];
}

/** Includes a saved partial. */
interface PartialNode {
  readonly kind: "partial";
  /** As written: a slug or an id, optionally with `@version`. */
  readonly name: string;
}

/** A piece of a template; strings are literal text. */
export type TemplateNode = string | VariableNode | SectionNode | PartialNode;

/** A parsed template. */
export type Template = readonly TemplateNode[];

/** A problem of a template, phrased as the end of a sentence. */
export interface TemplateProblem {
  readonly problem: string;
}

/** Whether a result is a problem. */
export function isProblem(result: object): result is TemplateProblem {
  return "problem" in result;
}

/** Deepest nesting of sections. */
const maxSections = 32;
const maxNameLength = 256;

interface Tag {
  sign: string;
  name: string;
  start: number;
  end: number;
}

const signs = "#^/>!&=";

/** The tag at `start`, or what is wrong with it. */
function readTag(text: string, start: number): Tag | TemplateProblem {
  const place = `the tag at character ${start + 1}`;
  const isTriple = text[start + 2] === "{";
  const closer = isTriple ? "}}}" : "}}";
  const inner = start + (isTriple ? 3 : 2);
  const close = text.indexOf(closer, inner);
  if (close < 0) return { problem: `${place} is not closed` };
  const first = text[inner] ?? "";
  const sign = !isTriple && first !== "" && signs.includes(first) ? first : "";
  const end = close + closer.length;
  if (sign === "=") return { problem: `${place} sets other delimiters, which is not supported` };
  if (sign === "!") return { sign, name: "", start, end };
  const name = text.slice(inner + sign.length, close).trim();
  if (name === "") return { problem: `${place} is empty` };
  if (name.length > maxNameLength) return { problem: `${place} has a name of more than ${maxNameLength} characters` };
  return { sign, name, start, end };
}

/**
 * The line of a tag that stands alone on it: standalone sections and comments leave no empty line. Undefined where the
 * line has other content.
 */
function lineOf(text: string, { sign, start, end }: Tag): { start: number; end: number } | undefined {
  if (!"#^/!".includes(sign) || sign === "") return undefined;
  let first = start;
  while (text[first - 1] === " " || text[first - 1] === "\t") first--;
  if (first > 0 && text[first - 1] !== "\n") return undefined;
  let last = end;
  while (text[last] === " " || text[last] === "\t") last++;
  if (last === text.length) return { start: first, end: last };
  if (text[last] === "\r" && text[last + 1] === "\n") last++;
  return text[last] === "\n" ? { start: first, end: last + 1 } : undefined;
}

function toPath(name: string): string[] {
  return name === "." ? [] : name.split(".").map((part) => part.trim());
}

/** A section that is still open. */
interface Open {
  name: string;
  inverted: boolean;
  nodes: TemplateNode[];
}

/** Adds a tag to the open section; returns a problem, if there is one. */
function addTag({ sign, name, start }: Tag, open: Open[]): TemplateProblem | undefined {
  const nodes = open.at(-1)?.nodes;
  switch (sign) {
    case "!":
      return undefined;
    case "#":
    case "^":
      open.push({ name, inverted: sign === "^", nodes: [] });
      return open.length > maxSections + 1
        ? { problem: `its sections nest deeper than ${maxSections} levels` }
        : undefined;
    case "/": {
      const section = open.length > 1 ? open.pop() : undefined;
      if (section?.name !== name) return { problem: `the tag at character ${start + 1} closes no open section` };
      const { inverted } = section;
      open.at(-1)?.nodes.push({ kind: "section", path: toPath(name), inverted, nodes: section.nodes });
      return undefined;
    }
    case ">":
      nodes?.push({ kind: "partial", name });
      return undefined;
    default:
      nodes?.push({ kind: "variable", path: toPath(name) });
      return undefined;
  }
}

/**
 * Parses the logic-less templates of https://mustache.github.io/mustache.5.html: variables, sections, partials, comments.
 * Nothing is escaped, `{{{name}}}` and `{{&name}}` mean `{{name}}`, and delimiters cannot be changed.
 */
export function parseTemplate(text: string): Template | TemplateProblem {
  const root: TemplateNode[] = [];
  const open: Open[] = [{ name: "", inverted: false, nodes: root }];
  let position = 0;
  for (let start = text.indexOf("{{"); start >= 0; start = text.indexOf("{{", position)) {
    const tag = readTag(text, start);
    if ("problem" in tag) return tag;
    const line = lineOf(text, tag);
    const before = text.slice(position, Math.max(position, line?.start ?? start));
    if (before !== "") open.at(-1)?.nodes.push(before);
    const problem = addTag(tag, open);
    if (problem) return problem;
    position = line?.end ?? tag.end;
  }
  const left = open.at(-1);
  if (left && open.length > 1) return { problem: `the section ${left.name} is not closed` };
  if (position < text.length) root.push(text.slice(position));
  return root;
}

/** Names that a template uses. */
export interface TemplateNames {
  /** Variables outside sections. */
  variables: string[];
  sections: string[];
  partials: string[];
  /** Variables inside sections. */
  sectionVariables: string[];
}

/** The names that templates use, without duplicates. */
export function namesOf(templates: readonly Template[]): TemplateNames {
  const variables = new Set<string>();
  const sections = new Set<string>();
  const partials = new Set<string>();
  const sectionVariables = new Set<string>();
  const walk = (nodes: Template, isInside: boolean): void => {
    for (const node of nodes) {
      if (typeof node === "string") continue;
      if (node.kind === "partial") partials.add(node.name);
      else if (node.kind === "variable") (isInside ? sectionVariables : variables).add(node.path.join(".") || ".");
      else {
        sections.add(node.path.join(".") || ".");
        walk(node.nodes, true);
      }
    }
  };
  for (const template of templates) walk(template, false);
  return {
    variables: [...variables],
    sections: [...sections],
    partials: [...partials],
    sectionVariables: [...sectionVariables],
  };
}
