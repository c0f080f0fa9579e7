import type { Role } from "./role.ts";
import { connectLink } from "./sockets.ts";
import type { Report } from "./supervisor.ts";

/** What the parent process asks of its child. */
interface Orders {
  /** To end in order: the parent asks for it, or has ended itself. */
  stop(): void;
  /** To give running requests no more time. */
  hurry(): void;
}

/** A child's connection to its parent process. */
interface Parent {
  /** Reports that this process serves. */
  ready(report: Omit<Report, "number">): void;
}

/**
 * Connects to the parent process.
 *
 * @throws If it has ended.
 */
export async function connectParent({ control, number }: Role, orders: Orders): Promise<Parent> {
  const link = await connectLink(control, () => ({ stop: orders.stop, hurry: orders.hurry }));
  link.onClose(orders.stop);
  link.tell("hello", number);
  return { ready: (report) => link.tell("ready", { ...report, number }) };
}
