/** Accessibility of a page, by axe. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";

/** Minified, because the browser compiles it for each page. */
const AXE = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();

type Violation = { id: string; impact: string; nodes: string[] };

/** Fails on violations of `rules` that axe rates serious or critical. Default: all rules. */
export const expectAccessible = async (page: Page, name: string, rules?: readonly string[]): Promise<void> => {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(AXE);
  // The rule for the size of targets (WCAG 2.2, 2.5.8) is off by default.
  const also = { "target-size": { enabled: true } };
  const options = JSON.stringify({ resultTypes: ["violations"], ...(rules ? { runOnly: rules } : { rules: also }) });
  const violations = (await page.evaluate(`axe.run(document, ${options}).then(({ violations }) =>
    violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(({ html, failureSummary }) => html + failureSummary) })))`)) as Violation[];
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  expect([name, ...serious]).toEqual([name]);
};
