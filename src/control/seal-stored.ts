import { maskSecret } from "../auth/api-key.ts";
import type { ContentSealingStore } from "../db/stores/content-sealing.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { maskAddress } from "../lib/secret-values.ts";
import { mcpAddressField, mcpSecretKind } from "../mcp/registry/mcp-library.ts";
import { configurationPrefix, fromPaths, integrationSecretKind, toPaths } from "./integration-fields.ts";
import { type ContentKind, type ContentRules, maskContent, sealContent } from "./sealed-contents.ts";
import type { Vault } from "./vault.ts";

/** Options of `sealStored`. */
interface SealStoredOptions {
  store: ContentSealingStore;
  vault: Vault;
  rules: ContentRules;
  /** Unix milliseconds. */
  now: number;
}

/** Rows that are read at a time. */
const batchRows = 100;

async function sealContents(kind: ContentKind, { store, vault, rules, now }: SealStoredOptions): Promise<void> {
  for (let after = ""; ; ) {
    const versions = await store.versions(kind, after, batchRows);
    for (const { id, organisationId, workspaceId, content } of versions) {
      const { text, secrets } = maskContent(parseJson(content), rules);
      if (secrets.size === 0) continue;
      const sealed = await sealContent(vault, { organisationId, workspaceId, kind, recordId: id }, secrets, now);
      await store.replaceContent(kind, { id, from: content, to: text }, sealed);
    }
    after = versions.at(-1)?.id ?? "";
    if (versions.length < batchRows) return;
  }
}

/** The path of an integration's address, whose own path may be a credential. */
const hostPath = "custom_host";

async function sealIntegrations({ store, vault, rules, now }: SealStoredOptions): Promise<void> {
  for (let after = ""; ; ) {
    const rows = await store.integrations(after, batchRows);
    for (const row of rows) {
      const paths = toPaths(row.configurations);
      const found = [...paths].filter(
        ([path, value]) =>
          typeof value === "string" &&
          (rules.secretSettings.has(path) || (path === hostPath && maskAddress(value) !== value)),
      );
      if (found.length === 0) continue;
      const { id, organisationId, workspaceId } = row;
      const masked: Record<string, string> = {};
      const sealed = [];
      for (const [path, value] of found) {
        const field = `${configurationPrefix}${path}`;
        const place = { organisationId, workspaceId, kind: integrationSecretKind, recordId: id, field };
        sealed.push(await vault.seal(place, String(value), now));
        masked[field] = path === hostPath ? maskAddress(String(value)) : maskSecret(String(value));
        paths.delete(path);
      }
      const former = isObject(row.masked) ? row.masked : {};
      await store.replaceConfigurations(
        row,
        { configurations: fromPaths(paths), masked: { ...former, ...masked } },
        sealed,
      );
    }
    after = rows.at(-1)?.id ?? "";
    if (rows.length < batchRows) return;
  }
}

async function sealAddresses({ store, vault, now }: SealStoredOptions): Promise<void> {
  for (let after = ""; ; ) {
    const rows = await store.mcpIntegrations(after, batchRows);
    for (const row of rows) {
      const { id, organisationId, workspaceId, url } = row;
      const shown = maskAddress(url);
      if (shown === url) continue;
      const place = { organisationId, workspaceId, kind: mcpSecretKind, recordId: id, field: mcpAddressField };
      await store.replaceAddress(row, shown, await vault.seal(place, url, now));
    }
    after = rows.at(-1)?.id ?? "";
    if (rows.length < batchRows) return;
  }
}

/** Seals secrets that earlier versions stored unencrypted; a database is scanned only once for each kind. */
export async function sealStored(options: SealStoredOptions): Promise<void> {
  const { store, now } = options;
  if (!(await store.isDone("contents"))) {
    await sealContents("configs", options);
    await sealContents("guardrails", options);
    await store.markDone("contents", now);
  }
  if (!(await store.isDone("addresses"))) {
    await sealAddresses(options);
    await store.markDone("addresses", now);
  }
  if (await store.isDone("integrations")) return;
  await sealIntegrations(options);
  await store.markDone("integrations", now);
}
