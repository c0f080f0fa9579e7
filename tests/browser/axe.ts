import axe from "axe-core";
import type { ConsolePage } from "./support.ts";

/** Serious and critical findings of axe-core. */
export async function findings({ page }: ConsolePage): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { violations } = await Reflect.get(globalThis, "axe").run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    });
    return violations;
  });
  return (Array.isArray(found) ? found : [])
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }: { html: string }) => html.slice(0, 160)).join(" | ")}`);
}
