/** Names that templates in headers of MCP integrations may use, for what the gateway knows of the caller. */
export const templateNames: ReadonlySet<string> = new Set([
  "user_id",
  "email",
  "workspace_id",
  "organisation_id",
  "client_id",
  "sub",
]);

/** A template: a name in double braces. */
const templateForm = /\{\{\s*([^{}]*?)\s*\}\}/g;

/** A value with its templates replaced. Nothing of a replacement is read as a template again. */
export function replaceTemplates(value: string, replace: (name: string) => string): string {
  return value.replace(templateForm, (_, name: string) => replace(name));
}

/** The first template of a value that stands for nothing; undefined without one. */
export function findUnknownTemplate(value: string): string | undefined {
  for (const [, name = ""] of value.matchAll(templateForm)) if (!templateNames.has(name)) return name;
  return undefined;
}
