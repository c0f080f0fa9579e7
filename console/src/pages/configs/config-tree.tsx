import { type KeyboardEvent, type ReactNode, useMemo, useRef, useState } from "react";
import { text } from "@/text/text.ts";
import classes from "./config-tree.module.css";
import type { Plan } from "./plan.ts";
import type { TreeNode } from "./tree.ts";

const words = text.configs;

interface ConfigTreeProps {
  readonly root: TreeNode;
  /** What an explanation found; undefined: nothing was explained. */
  readonly plan: Plan | undefined;
  /** Path of the node whose inputs are shown. */
  readonly chosen: string;
  /** Paths of nodes of which something was refused. */
  readonly refused: readonly string[];
  /** Called with the path of a node that was chosen. */
  readonly onChoose: (path: string) => void;
}

function flatten(node: TreeNode): readonly TreeNode[] {
  return [node, ...node.children.flatMap(flatten)];
}

/**
 * A config as a tree: groups with their strategy, targets, and what leads to each. The arrows move, `Enter` chooses. After
 * an explanation, targets that are called have their number, and the others a broken border.
 */
export function ConfigTree({ root, plan, chosen, refused, onChoose }: ConfigTreeProps): ReactNode {
  const host = useRef<HTMLDivElement>(null);
  const nodes = useMemo(() => flatten(root), [root]);
  const [active, setActive] = useState(chosen);
  const [before, setBefore] = useState(chosen);
  if (before !== chosen) {
    setBefore(chosen);
    setActive(chosen);
  }
  const current = nodes.some(({ path }) => path === active) ? active : root.path;
  const move = (to: TreeNode | undefined) => {
    if (to === undefined) return;
    setActive(to.path);
    host.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(to.path)}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = nodes.findIndex(({ path }) => path === current);
    const parent = current.replace(/\.targets\[\d+\]$/, "");
    const next: Readonly<Record<string, TreeNode | undefined>> = {
      ArrowDown: nodes[at + 1],
      ArrowUp: nodes[at - 1],
      ArrowRight: nodes[at]?.children[0],
      ArrowLeft: nodes.find(({ path }) => path === parent),
      Home: nodes[0],
      End: nodes.at(-1),
    };
    if (!(event.key in next) && event.key !== "Enter") return;
    event.preventDefault();
    if (event.key === "Enter") onChoose(current);
    else move(next[event.key]);
  };
  return (
    <div ref={host} role="tree" aria-label={words.tree} className={classes.tree} onKeyDown={onKeyDown}>
      <Node node={root} level={1} state={{ plan, current, chosen, refused, onChoose, onFocus: setActive }} />
    </div>
  );
}

interface NodeState {
  readonly plan: Plan | undefined;
  readonly current: string;
  readonly chosen: string;
  readonly refused: readonly string[];
  readonly onChoose: (path: string) => void;
  readonly onFocus: (path: string) => void;
}

interface NodeProps {
  readonly node: TreeNode;
  readonly level: number;
  readonly state: NodeState;
  readonly parent?: string;
}

function Node({ node, level, state, parent }: NodeProps): ReactNode {
  const { plan, current, chosen, refused, onChoose, onFocus } = state;
  const order = plan === undefined ? -1 : plan.calls.findIndex(({ label }) => label === node.path);
  const reached = plan?.calls.some(({ label }) => label === node.path || label.startsWith(`${node.path}.`)) === true;
  const status = plan === undefined ? undefined : order >= 0 ? "called" : reached ? "passed" : "unreached";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys of its nodes
    <div
      role="treeitem"
      aria-level={level}
      aria-expanded={node.children.length > 0 ? true : undefined}
      aria-selected={node.path === chosen}
      tabIndex={node.path === current ? 0 : -1}
      data-path={node.path}
      data-reached={reached || undefined}
      onFocus={(event) => {
        event.stopPropagation();
        onFocus(node.path);
      }}
      onClick={(event) => {
        event.stopPropagation();
        onChoose(node.path);
      }}
    >
      <div
        className={classes.node}
        data-group={node.mode !== undefined || undefined}
        data-state={status}
        data-chosen={node.path === chosen || undefined}
        data-refused={refused.includes(node.path) || undefined}
      >
        <Edges node={node} plan={plan} parent={parent} />
        {order >= 0 && (
          <span className={classes.order} role="img" aria-label={words.callNumber({ order: order + 1 })}>
            {order + 1}
          </span>
        )}
        {node.title !== "" && <span className={classes.title}>{node.title}</span>}
        {node.mode !== undefined && <span className={classes.mode}>{words.modes[node.mode] ?? node.mode}</span>}
        {node.settings.map((setting) => (
          <span key={setting} className={classes.chip}>
            {setting}
          </span>
        ))}
        {refused.includes(node.path) && <span className={classes.refused}>{words.refused}</span>}
        {status === "unreached" && <span className={classes.mode}>{words.unreached}</span>}
      </div>
      {node.children.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a group of a tree is no fieldset
        <div role="group">
          {node.children.map((child) => (
            <Node key={child.path} node={child} level={level + 1} state={state} parent={node.path} />
          ))}
        </div>
      )}
    </div>
  );
}

/** What leads to a node, with what an explanation said of its conditions. */
function Edges({
  node,
  plan,
  parent,
}: {
  readonly node: TreeNode;
  readonly plan: Plan | undefined;
  readonly parent: string | undefined;
}): ReactNode {
  const read = plan?.conditions.get(parent ?? "");
  return node.edges.map(({ label, condition }) => {
    const result = condition === undefined ? undefined : read?.[condition];
    const said = result === undefined ? "" : result.matched ? ` — ${words.matched}` : ` — ${words.notMatched}`;
    const skipped = condition !== undefined && read !== undefined && result === undefined ? ` — ${words.notRead}` : "";
    return (
      <span key={label} className={classes.edge} data-matched={result?.matched}>
        {label}
        {said}
        {skipped}
      </span>
    );
  });
}
