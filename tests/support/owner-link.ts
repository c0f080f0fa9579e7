import { type Answer, Link } from "../../src/lib/link.ts";
import { SteadyLink } from "../../src/lib/steady-link.ts";

/** Answers of an owner to one connection, and what ends them. */
interface Served {
  readonly answers: Readonly<Record<string, Answer>>;
  end(): void;
}

/** A steady link to owners in this process, one after the other. */
export function createOwnerLink(serve: () => Served) {
  let serving = serve;
  let isAway = false;
  let peers = 0;
  const link = new SteadyLink(async (answers) => {
    if (isAway) throw new Error("There is no owner");
    const { answers: ofOwner, end } = serving();
    const deliver = (to: () => Link) => ({
      // another turn, as between processes
      write: (bytes: Uint8Array) => void setTimeout(() => to().receive(bytes)),
      end: () => to().close(),
    });
    const worker: Link = new Link(
      deliver(() => owner),
      answers,
    );
    const owner: Link = new Link(
      deliver(() => worker),
      ofOwner,
    );
    owner.onClose(end);
    return { link: worker, peer: String(++peers) };
  });
  link.start();
  return {
    link,
    /** The owner ends; the next one, if any, takes its place. */
    end(next?: () => Served): void {
      isAway = next === undefined;
      if (next) serving = next;
      link.current?.close();
    },
  };
}
