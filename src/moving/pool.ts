type Fields = Record<string, unknown>;

/** One way to serve a model. */
export interface Deployment {
  /** Slug of the provider. */
  readonly integration: string;
  readonly model: string;
  readonly weight: number;
  /** Lower ones are called first; absent: after all that have one. */
  readonly order?: number | undefined;
  /** Fields that requests get if they lack them. */
  readonly params: Fields;
  /** Settings of the target, such as time limits. */
  readonly settings?: Fields;
  /** Tags of the alias. */
  readonly tags?: readonly string[];
}

/** What else a model gets. */
export interface Pool {
  /** Names of models that take over, in their order. */
  readonly fallbacks?: readonly string[];
  /** Names of models that take over after some kinds of failures. */
  readonly byKind?: readonly { readonly codes: readonly string[]; readonly names: readonly string[] }[];
  /** How one of several deployments is chosen; absent: by weight. */
  readonly choose?: string | undefined;
  /** Circuit breakers of the deployments. */
  readonly breaker?: Fields | undefined;
  readonly retries?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly streamIdleMs?: number | undefined;
  /** Absent: responses are not reused. */
  readonly cache?: { readonly mode: "simple" | "semantic"; readonly seconds: number } | undefined;
}

/** Most retries of a config. */
export const maxRetries = 5;

const toTarget = ({ integration, model, params, settings }: Deployment): Fields => ({
  provider: `@${integration}`,
  override_params: { model },
  ...(Object.keys(params).length > 0 && { default_params: params }),
  ...settings,
});

/** Deployments of one order: one of them is called. */
function toGroup(deployments: readonly Deployment[], choose: string | undefined): Fields {
  const [only] = deployments;
  if (only && deployments.length === 1) return toTarget(only);
  return {
    strategy: { mode: "loadbalance", ...(choose !== undefined && { choose }) },
    targets: deployments.map((one) => ({ ...toTarget(one), weight: one.weight })),
  };
}

const fallbackOf = (targets: readonly Fields[], more: Fields = {}): Fields => ({
  strategy: { mode: "fallback", ...more },
  targets,
});

/** All deployments of a model: those of one order after the failure of those before. */
export function targetOfAll(deployments: readonly Deployment[], choose: string | undefined): Fields {
  const orders = [...new Set(deployments.map(({ order = Number.POSITIVE_INFINITY }) => order))].toSorted(
    (one, other) => one - other,
  );
  const groups = orders.map((order) =>
    toGroup(
      deployments.filter((one) => (one.order ?? Number.POSITIVE_INFINITY) === order),
      choose,
    ),
  );
  const [first] = groups;
  return first && groups.length === 1 ? first : fallbackOf(groups);
}

/** What a config is made of. */
interface Route {
  readonly deployments: readonly Deployment[];
  /** Targets after some kinds of failures. */
  readonly kinds: readonly { readonly codes: readonly string[]; readonly targets: readonly Fields[] }[];
  /** Targets after any failure. */
  readonly others: readonly Fields[];
  readonly pool: Pool;
}

/** The config of a model. */
export function routeOf({ deployments, kinds, others, pool }: Route): Fields {
  const { retries = 0, timeoutMs, streamIdleMs, cache, breaker, choose } = pool;
  const own = kinds
    .filter(({ targets }) => targets.length > 0)
    .reduce(
      (inner, { codes, targets }) => fallbackOf([inner, ...targets], { on_error_codes: codes }),
      targetOfAll(deployments, choose),
    );
  const whole = others.length > 0 ? fallbackOf([own, ...others]) : own;
  return {
    ...(retries > 0 && { retry: { attempts: Math.min(maxRetries, retries) } }),
    ...(timeoutMs !== undefined && { request_timeout: timeoutMs }),
    ...(streamIdleMs !== undefined && { stream_idle_timeout: streamIdleMs }),
    ...(cache !== undefined && { cache: { mode: cache.mode, max_age: cache.seconds } }),
    ...(breaker !== undefined && whole.strategy !== undefined && { cb_config: breaker }),
    // settings of the only target come before those of all
    ...whole,
  };
}

/** Whether a config says no more than the model of a provider does. */
export const isPlain = (route: Fields, only: Deployment): boolean =>
  JSON.stringify(route) ===
  JSON.stringify({ provider: `@${only.integration}`, override_params: { model: only.model } });
