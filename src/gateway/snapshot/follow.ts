import { holdsInstallation } from "../../auth/first-start.ts";
import type { Services } from "../../context.ts";
import { openDatabase } from "../../db/client.ts";
import { describeDatabase } from "../../db/open-failure.ts";
import { createInstallationStore } from "../../db/stores/installation.ts";
import { locationOf, type OpenData, openMigrated, readerOf } from "../data.ts";
import { type GatewayOptions, warnOf } from "../options.ts";

/** How often it is looked whether a snapshot is due. */
const lookEveryMs = 1_000;
/** Pause between two attempts to reach the database from which nothing was read since the start. */
const reachEveryMs = 250;
/** Least time between two warnings. */
const warnEveryMs = 60_000;

/** What follows a snapshot. */
interface Followed extends OpenData {
  readonly control: Services["control"];
  /** Stores what earlier processes left of the log. */
  recover(): Promise<void>;
}

/**
 * Whether the database is there and holds this installation. It gets the schema of this program first, as at a start.
 *
 * @throws If it is away, or of a newer version.
 */
async function isKnown(options: GatewayOptions, { installation, masterKeys }: OpenData): Promise<boolean> {
  const location = locationOf(options);
  const looking = await openDatabase(location);
  try {
    const store = createInstallationStore(looking);
    const isSame = () => holdsInstallation(installation, { store, masterKeys, readMasterKeys: readerOf(options) });
    // without tables there is no installation
    const { rows } = await looking.read("SELECT 1 FROM sqlite_schema WHERE name = 'installation'");
    if (rows.length === 0 || !(await isSame())) return false;
  } finally {
    await looking.close();
  }
  await (await openMigrated(location)).close();
  return true;
}

/** Writes snapshots, and reaches the database if the process began without it. The result ends that. */
export function followSnapshot(options: GatewayOptions, followed: Followed): () => void {
  const { snapshot, begunFrom, database, control, recover } = followed;
  if (!snapshot) return () => {};
  let isStopped = false;
  let warnedAt = Number.NEGATIVE_INFINITY;
  const warn = (message: string, error?: unknown) => {
    if (performance.now() - warnedAt < warnEveryMs) return;
    warnedAt = performance.now();
    warnOf(options)(message, error);
  };
  const address = describeDatabase(options.database ?? "");
  const reach = async () => {
    for (; !isStopped; await new Promise((resolve) => setTimeout(resolve, reachEveryMs))) {
      try {
        if (await isKnown(options, followed)) break;
        warn(`Cannot use the database ${address}: it is not the one of the snapshot; restart the gateway to use it`);
      } catch (error) {
        warn(`Cannot reach the database ${address}: this process works from its snapshot`, error);
      }
    }
    if (isStopped) return;
    snapshot.connect();
    const failed = (error: unknown) => warn("Cannot store log rows that waited in a file: they wait for longer", error);
    // what was revoked meanwhile comes first
    await Promise.all([control.follower.look().catch(() => {}), recover().catch(failed)]);
  };
  if (begunFrom) void reach();
  const timer = setInterval(() => void snapshot.write(database, control.stores), lookEveryMs);
  return () => {
    isStopped = true;
    clearInterval(timer);
    snapshot.close();
  };
}
