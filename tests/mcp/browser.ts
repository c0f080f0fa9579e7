// Drives a headless Chromium by its DevTools protocol (https://chromedevtools.github.io/devtools-protocol/).

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createTemporaryFolder } from "../support/gateway.ts";

const path = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((one) =>
  existsSync(one),
);

/** Why tests of pages are skipped; false where there is a browser. */
export const noBrowser: string | false = path === undefined ? "there is no Chromium" : false;

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { message: string };
}

/** A page of a browser. */
export interface Page {
  /** Errors and warnings that the browser reported for the page. */
  readonly problems: string[];
  send(method: string, params?: object): Promise<Record<string, unknown>>;
  /** The value of an expression in the page. */
  read(expression: string): Promise<unknown>;
  open(address: string): Promise<void>;
  /** Presses a key, such as `Tab`. */
  press(key: "Tab" | "Enter"): Promise<void>;
  type(text: string): Promise<void>;
  /** Waits until an expression is true. */
  until(expression: string): Promise<void>;
  close(): Promise<void>;
}

/** The connection to a browser: commands by number, events by listener. */
async function connect(address: string) {
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error("Cannot reach the browser"));
  });
  const waiting = new Map<number, (message: Message) => void>();
  const listeners: ((message: Message) => void)[] = [];
  socket.onmessage = ({ data }) => {
    const message: Message = JSON.parse(String(data));
    if (message.id === undefined) for (const listener of listeners) listener(message);
    else waiting.get(message.id)?.(message);
  };
  let count = 0;
  return {
    listeners,
    close: () => socket.close(),
    send(method: string, params: object = {}, sessionId?: string): Promise<Record<string, unknown>> {
      const id = ++count;
      socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }));
      return new Promise((resolve, reject) =>
        waiting.set(id, ({ result, error }) => {
          waiting.delete(id);
          if (error) reject(new Error(`${method}: ${error.message}`));
          else resolve(result ?? {});
        }),
      );
    },
  };
}

const keys = { Tab: { code: "Tab", number: 9, text: "" }, Enter: { code: "Enter", number: 13, text: "\r" } };

/** Opens a browser with one page, as wide as a small phone. */
export async function openPage(colorScheme: "light" | "dark"): Promise<Page> {
  const folder = createTemporaryFolder();
  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
  const child = spawn(path ?? "", [
    ...args,
    "--remote-debugging-port=0",
    `--user-data-dir=${folder.path}`,
    "about:blank",
  ]);
  const ended = new Promise((resolve) => child.once("close", resolve));
  const address = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      const found = /DevTools listening on (ws:\/\/\S+)/.exec(text)?.[1];
      if (found) resolve(found);
    });
    child.once("close", () => reject(new Error(`The browser ended: ${text}`)));
  });
  const browser = await connect(address);
  const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
  const send = (method: string, params: object = {}) => browser.send(method, params, String(sessionId));
  const problems: string[] = [];
  browser.listeners.push(({ method, params }) => {
    const entry = params?.entry as { level?: string; text?: string } | undefined;
    if (method === "Log.entryAdded" && entry?.level === "error") problems.push(String(entry.text));
    if (method === "Runtime.exceptionThrown") problems.push(JSON.stringify(params));
    if (method === "Runtime.consoleAPICalled" && params?.type === "error") problems.push(JSON.stringify(params.args));
  });
  for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`);
  await send("Emulation.setDeviceMetricsOverride", { width: 360, height: 640, deviceScaleFactor: 1, mobile: false });
  await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: colorScheme }] });
  const read = async (expression: string): Promise<unknown> => {
    const { result } = await send("Runtime.evaluate", { expression, returnByValue: true });
    return (result as { value?: unknown } | undefined)?.value;
  };
  return {
    problems,
    send,
    read,
    async open(url) {
      await send("Page.navigate", { url });
    },
    async press(key) {
      const { code, number, text } = keys[key];
      const event = { key, code, windowsVirtualKeyCode: number };
      await send("Input.dispatchKeyEvent", { type: "keyDown", ...event, ...(text !== "" && { text }) });
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    },
    async type(text) {
      await send("Input.insertText", { text });
    },
    async until(expression) {
      const deadline = performance.now() + 30_000;
      // a page that is being replaced answers nothing
      while ((await read(expression).catch(() => false)) !== true) {
        if (performance.now() > deadline)
          throw new Error(`Waited 30 s for ${expression}: ${await read("document.body.innerText")}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async close() {
      await browser.send("Browser.close").catch(() => {});
      browser.close();
      await ended;
      folder.remove();
    },
  };
}
