import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { Redis } from "ioredis";
import type { TestCertificate } from "./certificate.ts";
import { createFolder, waitFor } from "./process.ts";

/** Whether this machine has a server of Redis (Debian: `redis-server`). */
export const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;

/** How a server is started. */
interface RedisSettings {
  password?: string;
  /** It then speaks TLS alone. */
  certificate?: TestCertificate;
}

/** A server of Redis of its test alone, without persistence. */
export interface RedisServer {
  /** Address for `REDIS_URL`; the same after a restart. */
  readonly url: string;
  /** Sends a command as any client could. */
  send(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
  /** Its time, in Unix milliseconds. */
  now(): Promise<number>;
  /** Ends it, as a power cut would. */
  kill(): Promise<void>;
  /** Starts it again, empty. */
  restart(): Promise<void>;
  /** Lets it hang, or go on: connections stay open. */
  pause(): void;
  resume(): void;
}

const servers = new Set<ChildProcess>();
process.on("exit", () => {
  for (const server of servers) server.kill("SIGKILL");
});

/** A port that nobody listens on. */
function findPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** Starts a server and waits until it serves. Undefined if it ended, as when somebody took the port. */
async function launch(port: number, { password, certificate }: RedisSettings): Promise<ChildProcess | undefined> {
  const folder = createFolder();
  const common = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  const files = ["cert", "key"].map((name) => join(folder, name));
  if (certificate)
    for (const [index, text] of [certificate.cert, certificate.key].entries()) writeFileSync(files[index] ?? "", text);
  const [certFile = "", keyFile = ""] = files;
  const tls = [
    "--tls-port",
    String(port),
    "--tls-cert-file",
    certFile,
    "--tls-key-file",
    keyFile,
    "--tls-auth-clients",
    "no",
  ];
  const place = certificate ? ["--port", "0", ...tls] : ["--port", String(port)];
  const child = spawn("redis-server", [...common, ...place, ...(password ? ["--requirepass", password] : [])], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  servers.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (output += text));
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await waitFor("redis-server to serve", 20_000, () => /Ready to accept connections/.test(output) || hasEnded());
  if (!hasEnded()) return child;
  servers.delete(child);
  return undefined;
}

/** Starts a server. */
export async function startRedis(options: RedisSettings = {}): Promise<RedisServer> {
  let port = 0;
  let child: ChildProcess | undefined;
  for (let attempt = 0; attempt < 5 && !child; attempt++) {
    port = await findPort();
    child = await launch(port, options);
  }
  if (!child) throw new Error("Cannot start redis-server");
  const { password, certificate } = options;
  const url = `${certificate ? "rediss" : "redis"}://${password ? `:${password}@` : ""}127.0.0.1:${port}`;
  const signal = (name: NodeJS.Signals) => {
    if (child?.pid !== undefined) process.kill(child.pid, name);
  };
  const kill = async () => {
    const ending = child;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = new Promise((resolve) => ending.once("exit", resolve));
    signal("SIGKILL");
    await ended;
    servers.delete(ending);
    child = undefined;
  };
  const send: RedisServer["send"] = async (command, ...args) => {
    const client = new Redis(url, { lazyConnect: true, ...(certificate && { tls: { ca: certificate.authority } }) });
    try {
      await client.connect();
      return await client.call(command, ...args);
    } finally {
      client.disconnect();
    }
  };
  return {
    url,
    send,
    async now() {
      const [seconds, micros] = (await send("TIME")) as [string, string]; // as the command says
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    },
    kill,
    async restart() {
      await kill();
      for (let attempt = 0; attempt < 5 && !child; attempt++) child = await launch(port, options);
      if (!child) throw new Error("Cannot restart redis-server");
    },
    pause: () => signal("SIGSTOP"),
    resume: () => signal("SIGCONT"),
  };
}
