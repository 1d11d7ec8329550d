import { join } from "node:path";
import { readTexts } from "./texts.ts";

/** One name for each concept in the dashboard, the command line and the API. */
export const GLOSSARY: readonly { name: string; not: RegExp }[] = [
  { name: "API key", not: /\b(?:API tokens?|access keys?|credential keys?)\b/i },
  { name: "environment", not: /\b(?:sandbox mode|test mode|live mode)\b/i },
  { name: "revoke (a key)", not: /\b(?:delete|remove|disable)[sd]? (?:the |a |this |an? API )?key\b/i },
  { name: "rotate (a secret)", not: /\b(?:roll|regenerate|renew)[sd]? (?:the |a |this )?(?:secret|key)\b/i },
  { name: "credits", not: /\b(?:coins?|tokens? of credit|funds)\b/i },
  { name: "spend cap", not: /\b(?:spending limit|budget limit|spend limit|spending cap)\b/i },
  { name: "descendant keys", not: /\b(?:sub-?keys?|nested keys?)\b/i },
  { name: "webhook endpoint", not: /\b(?:webhook (?:target|receiver|subscription|listener)s?|callback URL)\b/i },
  { name: "delivery", not: /\b(?:webhook (?:message|notification|dispatch)(?:es|s)?)\b/i },
  { name: "avatar worker", not: /\b(?:render worker|rendering worker|call worker|avatar server)s?\b/i },
  { name: "sign in", not: /\b(?:log ?in|log-in|logged in|sign ?on)\b/i },
  { name: "sign out", not: /\b(?:log ?out|logged out|sign ?off)\b/i },
  { name: "tenant", not: /\b(?:workspaces?|organi[sz]ations?)\b/i },
  { name: "validate, authenticate", not: /\bjudge[sd]?\b/i },
];

export type ProductText = { source: string; text: string };

const ROOT = join(import.meta.dir, "../..");

/** Strings that are no text: a module, a class list or a path. */
const isText = (text: string): boolean => /^[\p{Lu}…“]/u.test(text) && /\s/.test(text);

const textsIn = async (folder: string): Promise<ProductText[]> => {
  const files = [...new Bun.Glob("**/*.{ts,tsx}").scanSync(join(ROOT, folder))].filter((file) => !/test/.test(file));
  const found = files.map(async (file) => {
    const source = await Bun.file(join(ROOT, folder, file)).text();
    return readTexts(file, source)
      .filter(({ kind, text }) => kind !== "comment" && isText(text))
      .map(({ line, text }) => ({ source: `${folder}/${file}:${line}`, text }));
  });
  return (await Promise.all(found)).flat();
};

/** The texts that the dashboard shows, and those that the command line prints. */
export const dashboardTexts = (): Promise<ProductText[]> => textsIn("apps/dashboard/src");
export const commandLineTexts = (): Promise<ProductText[]> => textsIn("apps/cli/src");

/** The summaries and descriptions of the OpenAPI document. */
export const apiTexts = async (): Promise<ProductText[]> => {
  const found: ProductText[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      if (/^(?:summary|description)$/.test(key) && typeof member === "string")
        found.push({ source: path, text: member });
      else visit(member, `${path}/${key}`);
    }
  };
  visit(await Bun.file(join(ROOT, "docs/openapi.json")).json(), "docs/openapi.json");
  return found;
};
