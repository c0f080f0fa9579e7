/** Where to serve. */
export interface ListenOptions {
  hostname: string;
  /** Zero selects any free port. */
  port: number;
  maxBodyBytes: number;
}

/** A server that is listening. */
export interface Listener {
  readonly port: number;
  /** Accepts no new connections. */
  stop(): void;
  /** Ends every connection. */
  close(): Promise<void>;
}
