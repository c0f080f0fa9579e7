import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import {
  createFolder,
  fakeAdminKey,
  type GatewayProcess,
  startGatewayProcess,
  withGateway,
} from "../support/process.ts";

/** Headers of a page of the console that was loaded from a gateway. */
const pageHeaders = ({ url }: GatewayProcess) => ({ origin: url, "sec-fetch-site": "same-origin" });

async function signIn(gateway: GatewayProcess) {
  const response = await fetch(`${gateway.url}/console/session`, {
    method: "POST",
    headers: { ...pageHeaders(gateway), "content-type": "application/json" },
    body: JSON.stringify({ key: fakeAdminKey }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const cookie = (response.headers.get("set-cookie") ?? "").replace(/;.*/, "");
  return { cookie, "x-gateway-csrf": String(JSON.parse(text).csrf_token) };
}

type Session = Awaited<ReturnType<typeof signIn>>;

/** Status of a call by a session, at any gateway of the installation. */
async function statusOf(gateway: GatewayProcess, session: Session, method = "GET", path = "/v1/admin/workspaces") {
  const response = await fetch(gateway.url + path, { method, headers: { ...pageHeaders(gateway), ...session } });
  await response.text();
  return response.status;
}

async function waitForStatus(gateway: GatewayProcess, session: Session, wanted: number): Promise<void> {
  const until = performance.now() + 5_000;
  while ((await statusOf(gateway, session)) !== wanted) {
    if (performance.now() > until) throw new Error(`Waited five seconds for status ${wanted}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("a session works at every process of an installation, and a sign-out ends it at all of them for good", async () => {
  const env = {
    DATABASE_URL: `file:${join(createFolder(), "gateway.db")}`,
    GATEWAY_MASTER_KEYS: "v1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA",
    // processes on one file must know of each other
    WORKERS: "2",
  };
  const first = await startGatewayProcess({ env });
  const second = await startGatewayProcess({ env });
  try {
    const [session, other] = [await signIn(first), await signIn(first)];
    assert.equal(await statusOf(second, session), 200);
    assert.equal(await statusOf(first, session, "DELETE", "/console/session"), 200);
    assert.equal(await statusOf(first, session), 401);
    await waitForStatus(second, session, 401);
    assert.equal(await statusOf(second, other), 200);
    await second.stop();
    await withGateway({ env }, async (later) => {
      assert.equal(await statusOf(later, session), 401, "it was ended before this process began");
      assert.equal(await statusOf(later, other), 200);
    });
  } finally {
    await Promise.all([first.stop("SIGKILL"), second.stop("SIGKILL")]);
  }
});
