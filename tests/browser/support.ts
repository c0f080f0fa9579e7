// The console in a real browser: a gateway process with data, Debian's Chromium driven by playwright-core.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { type GatewayProcess, type GatewayProcessOptions, startGatewayProcess } from "../support/process.ts";
import { repository } from "../support/source-files.ts";

const program = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);

/** Why the tests of this folder are skipped; false where there are a browser and a build. */
export const noConsole: string | false =
  program === undefined
    ? "there is no Chromium"
    : existsSync(join(repository, "dist/console/index.html"))
      ? false
      : "the console is not built";

/** A page of the console, and what went wrong in it. */
export interface ConsolePage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, messages of the browser about errors, requests to other origins. */
  readonly problems: string[];
  /** Opens a page of the console and waits until it stands. */
  open(path: string): Promise<void>;
}

/** A browser in front of a gateway. */
interface ConsoleBrowser {
  /** Opens a separate browser context and signs in with a key. */
  signIn(key: string, options?: PageOptions): Promise<ConsolePage>;
  /** Opens a browser context that is not signed in. */
  visit(options?: PageOptions): Promise<ConsolePage>;
  close(): Promise<void>;
}

/** A gateway with a browser in front of it. */
export interface ConsoleStand extends ConsoleBrowser {
  readonly gateway: GatewayProcess;
  /** Id of the workspace `default`. */
  readonly workspaceId: string;
  /** Calls the API with a key. */
  call(row: string, key: string, body?: unknown): Promise<Record<string, unknown>>;
}

/** How a browser shows pages. */
export interface PageOptions {
  readonly width?: number;
  readonly scheme?: "light" | "dark";
  /** Default: that of the machine. */
  readonly timeZone?: string;
}

/** Messages of the browser that belong to refusals a test asks for. */
const expected = /Failed to load resource: the server responded with a status of 4(?:0[0134]|09)/;

function watch(page: Page, origin: string): string[] {
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !expected.test(message.text())) problems.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(?:data|blob):/.test(url)) problems.push(`loaded: ${url}`);
  });
  page.on("dialog", (dialog) => void dialog.accept());
  return problems;
}

async function openContext(browser: Browser, gateway: GatewayProcess, options: PageOptions): Promise<ConsolePage> {
  const { width = 1440, scheme = "light", timeZone: timezoneId } = options;
  const viewport = { width, height: 900 };
  const look = { viewport, colorScheme: scheme, reducedMotion: "reduce" } as const;
  const context = await browser.newContext(timezoneId === undefined ? look : { ...look, timezoneId });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const open = async (path: string) => {
    await page.goto(`${gateway.url}/console${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
  };
  return { page, context, problems: watch(page, gateway.url), open };
}

/** Signs in on the form that is shown. */
export async function enterKey(page: Page, key: string): Promise<void> {
  await page.getByLabel("Gateway key").fill(key);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Signs out by the menu of the account. */
export async function signOut({ page }: ConsolePage): Promise<void> {
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByLabel("Gateway key").waitFor();
}

/** Starts a browser. */
export async function openBrowser(gateway: GatewayProcess): Promise<ConsoleBrowser> {
  const browser = await chromium.launch({ executablePath: program ?? "", args: ["--no-sandbox"] });
  const visit = (options: PageOptions = {}) => openContext(browser, gateway, options);
  return {
    visit,
    async signIn(key, options = {}) {
      const opened = await visit(options);
      await opened.page.goto(`${gateway.url}/console`);
      await enterKey(opened.page, key);
      await opened.page.getByRole("button", { name: "Account" }).waitFor();
      return opened;
    },
    close: () => browser.close(),
  };
}

/** Starts a gateway and a browser. */
export async function openStand(env: GatewayProcessOptions["env"] = {}): Promise<ConsoleStand> {
  const gateway = await startGatewayProcess({ env });
  const { visit, signIn, close } = await openBrowser(gateway);
  const call: ConsoleStand["call"] = async (row, key, body) => {
    const [method = "GET", path = "/"] = row.split(" ");
    const response = await fetch(gateway.url + path, {
      method,
      headers: { "x-gateway-api-key": key, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    assert.equal(response.status, 200, `${row}: ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
  const { data } = await call("GET /v1/admin/workspaces", gateway.adminKey);
  const workspaceId = Array.isArray(data) ? String(data[0]?.id) : "";
  return {
    gateway,
    workspaceId,
    call,
    visit,
    signIn,
    async close() {
      await close();
      await gateway.stop("SIGKILL");
    },
  };
}

/** A file that is chosen in a form. */
interface FormFile {
  readonly name: string;
  readonly content: string;
}

/** What goes into the fields of a form, by their labels. */
export type FormValues = Readonly<Record<string, string | readonly string[] | FormFile | FormLines>>;

/** What goes into the lines of a list, by the labels of its inputs. */
interface FormLines {
  readonly lines: readonly FormValues[];
}

/** The code editor with a label. */
export function editorOf(page: Page, label: string): Locator {
  return page.locator(`.cm-content[aria-label="${label}"]`);
}

/** Types over the whole text of a code editor. */
export async function fillCode(page: Page, editor: Locator, text: string): Promise<void> {
  await editor.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

/** Types a config as JSON over what the editor of configs shows. */
export async function fillConfig(page: Page, text: string): Promise<void> {
  await page.getByRole("main").getByText("JSON", { exact: true }).first().click();
  await fillCode(page, editorOf(page, "Config as JSON"), text);
}

async function chooseFile(page: Page, input: Locator, { name, content }: FormFile): Promise<void> {
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), input.click()]);
  await chooser.setFiles({ name, mimeType: "application/jsonl", buffer: Buffer.from(content) });
}

async function fillOne(page: Page, input: Locator, value: string | readonly string[]): Promise<void> {
  const isCode = (await input.getAttribute("contenteditable")) === "true";
  if (isCode) return fillCode(page, input, String(value));
  if ((await input.getAttribute("role")) === "switch") {
    await input.setChecked(value === "on", { force: true });
    return;
  }
  const isChoice = (await input.getAttribute("aria-haspopup")) === "listbox";
  for (const one of typeof value === "string" ? [value] : value) {
    if (!isChoice) {
      await input.fill(one);
      if (typeof value !== "string") await input.press("Enter");
      continue;
    }
    await input.click();
    if (await input.isEditable()) await input.fill(one);
    const option = page.getByRole("option", { name: one, exact: true }).first();
    // inputs of free words have no options
    if ((await input.isEditable()) && (await option.count()) === 0) await input.press("Enter");
    else await option.click();
  }
  if (isChoice && typeof value !== "string") await input.press("Escape");
}

/** Fills the lines of a list; lines that are missing are added. */
async function fillLines(page: Page, label: string, lines: readonly FormValues[]): Promise<void> {
  for (const [index, line] of lines.entries()) {
    const group = page.getByRole("group", { name: `${label} ${index + 1}`, exact: true });
    const title = page.getByText(new RegExp(`^${escapePattern(label)}(?: \\*)?$`));
    const list = page.locator(".mantine-InputWrapper-root", { has: title });
    if ((await group.count()) === 0) await list.last().getByRole("button").last().click();
    await fillForm(page, line, group);
  }
}

const escapePattern = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Fills the fields of a form by their labels: words, choices, code, switches (`on`, `off`), files, lists. */
export async function fillForm(page: Page, values: FormValues, form: Locator = page.locator("form")): Promise<void> {
  for (const [label, value] of Object.entries(values)) {
    // a required field is marked; entries of lists that follow may have a field of the same name
    const input = form.getByLabel(new RegExp(`^${escapePattern(label)}(?: \\*)?$`)).first();
    if (typeof value === "object" && "lines" in value) await fillLines(page, label, value.lines);
    else if (typeof value === "object" && "content" in value) await chooseFile(page, input, value);
    else await fillOne(page, input, value);
  }
}

/** The button that sends the form of a record. */
export const submitOf = (page: Page): Locator => page.locator("form button[type=submit]");

/** Makes a record with its form: the page of the record, or the dialog with its secret, follows. */
export async function createRecord({ page, open }: ConsolePage, path: string, values: FormValues): Promise<void> {
  await open(`${path}/new`);
  await fillForm(page, values);
  await submitOf(page).click();
}

/** The secret that is shown once; closes its dialog. */
export async function takeSecret(page: Page): Promise<string> {
  const dialog = page.getByRole("dialog", { name: "Copy the secret now" });
  const secret = await textOf(dialog.locator("pre"));
  await dialog.getByRole("button", { name: "I have copied it" }).click();
  await dialog.waitFor({ state: "hidden" });
  return secret;
}

/** Presses the button that deletes or removes something, and types the name that it asks for. */
export async function confirmName(page: Page, name: string, verb = "Delete"): Promise<void> {
  await page.getByRole("button", { name: verb, exact: true }).click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.getByRole("button", { name: verb }).isDisabled(), true);
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByRole("button", { name: verb }).click();
  await dialog.waitFor({ state: "hidden" });
}

/** Deletes the record that is open: its name must be typed. */
export async function deleteRecord(page: Page, name: string): Promise<void> {
  await confirmName(page, name);
  await page.getByRole("heading", { level: 1 }).waitFor();
}

/** The name and the text of the file that a button saves. */
export async function saveWith(page: Page, button: Locator): Promise<{ name: string; text: string }> {
  const [saved] = await Promise.all([page.waitForEvent("download"), button.click()]);
  const pieces: Uint8Array[] = [];
  for await (const piece of await saved.createReadStream()) pieces.push(piece);
  return { name: saved.suggestedFilename(), text: Buffer.concat(pieces).toString() };
}

/** Fails with everything that went wrong in a page. */
export function assertClean({ problems }: ConsolePage): void {
  assert.deepEqual(problems.splice(0), []);
}

/** Waits until nothing of a page is on its way. */
export async function settle(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  const waiting = "[role=status] .mantine-Loader-root, .mantine-Skeleton-root";
  await page.waitForFunction((selector) => document.querySelector(selector) === null, waiting);
}

/** What an element says. */
export async function textOf(element: Locator): Promise<string> {
  return (await element.textContent()) ?? "";
}

/** Addresses of every page that the navigation offers to who signed in, below `/console`. */
export async function listPages({ page, open }: ConsolePage): Promise<string[]> {
  await open("/api-keys");
  const links = await page.getByRole("navigation", { name: "Pages" }).getByRole("link").all();
  const addresses = await Promise.all(links.map((link) => link.getAttribute("href")));
  return addresses.map((address) => (address ?? "").replace(/^\/console/, "") || "/");
}
