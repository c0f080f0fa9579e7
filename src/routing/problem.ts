/** A problem with a config. */
export interface ConfigProblem {
  /** Such as `targets[0].retry.attempts`; empty for the config itself. */
  path: string;
  message: string;
}
