import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { repository } from "./source-files.ts";

/** The runtime that runs this test, and the gateways it starts. */
export const runtime = "Bun" in globalThis ? "bun" : "Deno" in globalThis ? "deno" : "node";

/** Keys of every gateway these helpers start, unless the test sets others. */
export const fakeWorkspaceKey = "fake-workspace-key-for-tests";
export const fakeAdminKey = "fake-admin-key-for-tests";

/** How a gateway is started. */
export interface GatewayProcessOptions {
  /** Added to the defaults; `undefined` takes a default away. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Folder it runs in; a fresh one by default. */
  cwd?: string;
  /** Program and arguments, instead of `mod.ts` on the runtime of the test. */
  command?: readonly string[];
  /** Whether it leads a separate process group, which signals to `-pid` reach. */
  leadsGroup?: boolean;
}

/** How a process ended. */
export interface Ending {
  code: number | null;
  signal: string | null;
}

/** A gateway that serves. */
export interface GatewayProcess {
  /** Address with scheme and port, without a trailing slash. */
  readonly url: string;
  readonly pid: number;
  /** The folder it runs in. */
  readonly folder: string;
  readonly workspaceKey: string;
  readonly adminKey: string;
  /** What it has printed so far, errors included. */
  output(): string;
  /** Resolves when the process has ended by itself or by a signal. */
  readonly ended: Promise<Ending>;
  /** Sends a signal, by default SIGTERM, and waits for the end; after 40 seconds the process is killed. */
  stop(signal?: NodeJS.Signals): Promise<Ending>;
}

/** A process that ended before it served. */
export interface FailedStart extends Ending {
  output: string;
}

/** A process that ends is noticed at once; one on a busy machine may take a while. */
const startWithinMs = 120_000;
const stopWithinMs = 40_000;

const children = new Set<ChildProcess>();
const folders = new Set<string>();

/** Ends what a broken test left behind. */
function cleanUp(): void {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
}

process.on("exit", cleanUp);
if (runtime === "deno") addEventListener("unload", cleanUp); // its test runner ends without the event above

/** A new empty folder, removed when the test process ends. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gateway-runtime-"));
  folders.add(folder);
  return folder;
}

/** Program and arguments that run a file of the repository, or of a copy of it, on the runtime of the test. */
export function runtimeCommand(file: string, kind: "serve" | "run" = "run", root = repository): string[] {
  const path = join(root, file);
  if (runtime === "node") return [process.execPath, path];
  if (runtime === "bun") return [process.execPath, "run", path];
  const config = ["-A", "--config", join(root, "deno.json")];
  if (kind === "run") return [process.execPath, "run", ...config, path];
  return [process.execPath, "serve", ...config, "--host", "127.0.0.1", "--port", "0", path];
}

/** Environment of a gateway: nothing of the test's own but what programs need to run at all. */
function createEnvironment(changes: GatewayProcessOptions["env"]): Record<string, string> {
  // the last two make Node's start shorter (scripts/ok.mjs)
  const names = [
    "PATH",
    "HOME",
    "TMPDIR",
    "TEMP",
    "TMP",
    "DENO_DIR",
    "SystemRoot",
    "NODE_COMPILE_CACHE",
    "NODE_OPTIONS",
  ];
  const environment: Record<string, string | undefined> = {
    ...Object.fromEntries(names.map((name) => [name, process.env[name]])),
    NO_COLOR: "1",
    DENO_NO_UPDATE_CHECK: "1",
    PORT: "0",
    BOOTSTRAP_WORKSPACE_KEY: fakeWorkspaceKey,
    BOOTSTRAP_ADMIN_KEY: fakeAdminKey,
    TRUSTED_CUSTOM_HOSTS: "127.0.0.1",
    ...changes,
  };
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) if (value !== undefined) given[name] = value;
  return given;
}

/** A started program, its output and its end. */
interface RunningProgram {
  child: ChildProcess;
  output(): string;
  /** What it has printed so far that is no error. */
  answer(): string;
  ended: Promise<Ending>;
  folder: string;
  environment: Record<string, string>;
}

function startProgram(options: GatewayProcessOptions): RunningProgram {
  const folder = options.cwd ?? createFolder();
  const environment = createEnvironment(options.env);
  const [program = "", ...args] = options.command ?? runtimeCommand("mod.ts", "serve");
  const detached = options.leadsGroup === true;
  const child = spawn(program, args, { cwd: folder, env: environment, detached, stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  let output = "";
  let answer = "";
  child.stdout?.on("data", (text: string) => {
    answer += text;
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<Ending>((resolve) => {
    child.once("error", (error) => {
      output += `${error.message}\n`;
      resolve({ code: null, signal: null });
    });
    // "close" comes when the output has been read too
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  ended.then(() => children.delete(child));
  return { child, output: () => output, answer: () => answer, ended, folder, environment };
}

/** Waits until a condition holds. Rejects with what was waited for. */
export async function waitFor<Value>(
  what: string,
  withinMs: number,
  find: () => Value | undefined | false,
): Promise<Value> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = find();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`Waited ${withinMs} ms for this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Resolves as `work` does, or rejects after a time; nothing is left waiting. */
export async function within<Value>(what: string, withinMs: number, work: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${withinMs} ms for this: ${what}`)), withinMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function stopProgram({ child, ended }: RunningProgram, signal: NodeJS.Signals): Promise<Ending> {
  try {
    // not `child.kill`: on Deno a child it signalled counts as ended by the signal, whatever it did
    if (child.pid !== undefined && child.exitCode === null && children.has(child)) process.kill(child.pid, signal);
  } catch {
    // it ended meanwhile
  }
  const killer = setTimeout(() => child.kill("SIGKILL"), stopWithinMs);
  try {
    return await ended;
  } finally {
    clearTimeout(killer);
  }
}

/**
 * Starts the gateway as its users do and waits until it serves.
 *
 * @throws {Error} With what it printed, if it ends or stays silent instead.
 */
export async function startGatewayProcess(options: GatewayProcessOptions = {}): Promise<GatewayProcess> {
  const program = startProgram(options);
  let end: Ending | undefined;
  program.ended.then((ending) => {
    end = ending;
  });
  try {
    const url = await waitFor("the gateway to serve", startWithinMs, () => {
      if (end) throw new Error(`The gateway ended with ${end.code ?? end.signal}`);
      return /serving on (https?:\/\/[^\s"]+)/.exec(program.output())?.[1];
    });
    return {
      url,
      pid: program.child.pid ?? 0,
      folder: program.folder,
      workspaceKey: program.environment.BOOTSTRAP_WORKSPACE_KEY ?? "",
      adminKey: program.environment.BOOTSTRAP_ADMIN_KEY ?? "",
      output: program.output,
      ended: program.ended,
      stop: (signal = "SIGTERM") => stopProgram(program, signal),
    };
  } catch (error) {
    await stopProgram(program, "SIGKILL");
    throw new Error(`${error instanceof Error ? error.message : error}; it printed:\n${program.output()}`);
  }
}

/** Runs a gateway for one test; afterwards its process is gone, also when the test failed. */
export async function withGateway<Value>(
  options: GatewayProcessOptions,
  run: (gateway: GatewayProcess) => Promise<Value>,
): Promise<Value> {
  const gateway = await startGatewayProcess(options);
  try {
    return await run(gateway);
  } finally {
    await gateway.stop("SIGKILL");
  }
}

/** Starts a gateway that is expected to give up, and waits for its end. */
export async function startAndFail(options: GatewayProcessOptions): Promise<FailedStart> {
  const program = startProgram(options);
  try {
    const ending = await within("the gateway to give up", startWithinMs, program.ended);
    return { ...ending, output: program.output() };
  } finally {
    await stopProgram(program, "SIGKILL");
  }
}

/** Starts a command of `mod.ts` on the runtime of the test, to end it before it is done. */
export function startCommand(
  args: readonly string[],
  options: GatewayProcessOptions,
): Pick<GatewayProcess, "ended" | "stop" | "output"> {
  const program = startProgram({ ...options, command: [...runtimeCommand("mod.ts"), ...args] });
  const { ended, output } = program;
  return { ended, output, stop: (signal = "SIGTERM") => stopProgram(program, signal) };
}

/** What a command printed, and its exit code. */
export interface CommandResult {
  code: number | null;
  stdout: string;
  /** Standard output and errors. */
  output: string;
}

/** Runs a command of `mod.ts` on the runtime of the test. */
export async function runCommand(args: readonly string[], options: GatewayProcessOptions): Promise<CommandResult> {
  const command = [...(options.command ?? runtimeCommand("mod.ts")), ...args];
  const program = startProgram({ ...options, command });
  try {
    const { code } = await within(`the command ${args.join(" ")}`, startWithinMs, program.ended);
    return { code, stdout: program.answer(), output: program.output() };
  } finally {
    await stopProgram(program, "SIGKILL");
  }
}
