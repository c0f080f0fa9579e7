import type { CallerContext, Services } from "../../context.ts";
import type { ManagedCredential } from "../../control/credentials.ts";
import { modelFieldPrefix } from "../../control/integration-fields.ts";
import { holderOfAccess, holderOfProvider } from "../../control/limit-holders.ts";
import type { StoredProvider } from "../../control/provider-library.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import type { StoredName } from "../../control/stored-name.ts";
import { CredentialUnavailableError } from "../../control/vault.ts";
import { AuthenticationError, InvalidRequestError, PermissionError, UnavailableError } from "../../errors.ts";
import { isObject, nonEmptyString } from "../../lib/json.ts";
import { type AppliedLimit, limitsOf } from "../../policies/applied.ts";
import { createPriceList, type PriceList } from "../../pricing/own-prices.ts";
import type { Destination } from "../../providers/core/call.ts";
import type { BoundProvider } from "../../providers/core/types.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { readCallerSetting } from "./caller-setting.ts";
import { requireCustomHost } from "./custom-host.ts";
import { createModelList, type ModelList, requireModel } from "./model-list.ts";

/** @throws {InvalidRequestError} 400: the workspace has no providers with these slugs. */
export function refuseNames(slugs: readonly string[]): never {
  throw new InvalidRequestError(`Following keys are not valid: ${slugs.join(", ")}`, {
    param: "x-gateway-provider",
    code: "invalid_provider",
  });
}

function isExpired({ row }: StoredProvider, now: number): boolean {
  return row.status === "expired" || (row.expiresAt !== null && row.expiresAt <= now);
}

/** Whether the workspace has the integration of a provider: its own, or one the organisation shares with it. */
function hasAccess({ integration, access }: StoredProvider): boolean {
  return integration.status === "active" && (integration.workspaceId !== null || access?.enabled === true);
}

/** Whether a stored provider can be called now. */
export function isUsableProvider(stored: StoredProvider, now: number): boolean {
  return !isExpired(stored, now) && hasAccess(stored);
}

/**
 * Refuses a stored provider that cannot be used now.
 *
 * @throws {AuthenticationError} 401 when it expired.
 * @throws {PermissionError} 403 when the workspace's access was removed.
 */
function requireUsableProvider(stored: StoredProvider, now: number): void {
  const { slug } = stored.row;
  if (isExpired(stored, now)) {
    throw new AuthenticationError(`Cannot use the provider ${slug}: it has expired`, {
      code: "virtual_key_expired_error",
    });
  }
  if (!hasAccess(stored)) {
    throw new PermissionError(`Forbidden! The workspace has no access to the integration of ${slug}`, {
      code: "integration_access_error",
    });
  }
}

/** Whether a workspace may call a model of an integration. */
export function allowsModel({ integration, models }: StoredProvider, model: string): boolean {
  const entry = models.get(model);
  return entry ? entry.enabled : integration.allowAllModels;
}

/** What an integration states of one of its models. */
interface ModelSettings {
  host?: string | undefined;
  /** On top of the integration's. */
  headers?: Readonly<Record<string, string>>;
  modelFacts?: ModelFacts | undefined;
}

const noSettings: ModelSettings = {};

/** A model's own settings: its host, headers on top of the integration's, and what it takes. */
function modelSettings(
  { models }: StoredProvider,
  { modelHeaders }: ManagedCredential,
  model: string | undefined,
): ModelSettings {
  const entry = model === undefined ? undefined : models.get(model);
  if (model === undefined || (!entry && modelHeaders.size === 0)) return noSettings;
  const { configurations, modelFacts } = entry ?? {};
  const { custom_host: shown, custom_headers: plain } = isObject(configurations) ? configurations : {};
  const host = modelHeaders.get(`${modelFieldPrefix(model)}custom_host`) ?? shown;
  const prefix = `${modelFieldPrefix(model)}custom_headers.`;
  const sealed = [...modelHeaders].filter(([field]) => field.startsWith(prefix));
  const headers = [
    ...Object.entries(isObject(plain) ? plain : {}).map(
      ([name, value]) => [name.toLowerCase(), String(value)] as const,
    ),
    ...sealed.map(([field, value]) => [field.slice(prefix.length).toLowerCase(), value] as const),
  ];
  return { host: nonEmptyString(host), headers: Object.fromEntries(headers), modelFacts: modelFacts ?? undefined };
}

/** Settings of a stored provider; the caller's count only where they cannot send the credential elsewhere. */
function readerOf(context: CallerContext, { settings }: ManagedCredential, isOpen: boolean) {
  return (name: string): string | null =>
    settings.get(name.replaceAll("-", "_")) ?? (isOpen ? readCallerSetting(context, name) : null);
}

/** Price lists of stored providers by view, dropped together with the views. */
const priceLists = new WeakMap<StoredProvider, PriceList>();

/** What the models of a stored provider cost. */
export function priceListOf(stored: StoredProvider): PriceList {
  const known = priceLists.get(stored);
  if (known) return known;
  const { integration, models } = stored;
  const pricing = { provider: integration.aiProviderId, adjustments: integration.pricingAdjustments, models };
  const priceList = createPriceList(pricing);
  priceLists.set(stored, priceList);
  return priceList;
}

/** Limits of stored providers: as long as these are in memory. */
const limitsOfProviders = new WeakMap<StoredProvider, readonly AppliedLimit[]>();

/** Limits of a stored provider, and of the workspace's access to its integration. */
function limitsOfStored(stored: StoredProvider): readonly AppliedLimit[] {
  const known = limitsOfProviders.get(stored);
  if (known) return known;
  const { row, access } = stored;
  const limits = [holderOfProvider(row), access && holderOfAccess(access)].flatMap((one) => (one ? limitsOf(one) : []));
  limitsOfProviders.set(stored, limits);
  return limits;
}

function toDestination(
  stored: StoredProvider,
  credential: ManagedCredential,
  context: CallerContext,
  model: string | undefined,
): Destination {
  const { services } = context;
  const slug = stored.integration.aiProviderId;
  const provider = services.providers.get(slug);
  if (!provider) {
    throw new InvalidRequestError(`Cannot call ${slug}: this gateway does not have the provider`, {
      code: "invalid_provider",
    });
  }
  const bound = provider.bind(readerOf(context, credential, provider.hasOpenSettings));
  const list = listOf(stored, bound, credential);
  const ofModel = modelSettings(stored, credential, model === undefined ? undefined : (list.entryOf(model) ?? model));
  const customHost = ofModel.host ?? credential.customHost;
  if (customHost !== undefined) requireCustomHost(customHost, services, "custom_host");
  context.log.provider = slug;
  context.log.isManaged = true;
  context.log.secrets.push(...credential.secrets);
  context.log.prices = priceListOf(stored);
  const { slug: name, integrationId } = stored.row;
  const { labels } = stored.integration;
  context.log.stored = { slug: name, integrationId, limits: limitsOfStored(stored), ...(labels && { labels }) };
  return {
    provider: bound,
    customHost,
    credential: credential.key,
    managed: {
      headers: ofModel.headers ? { ...credential.customHeaders, ...ofModel.headers } : credential.customHeaders,
      model,
      modelFacts: ofModel.modelFacts,
      restrictedTo: list.isRestricted ? list : undefined,
      identity: () => [name, integrationId, credential.key, [...credential.settings], rulesOf(stored)],
      revision: `${integrationId} ${stored.integration.lastUpdatedAt} ${stored.row.lastUpdatedAt}`,
      ...(lieOutside(stored) && {
        async renew() {
          const renewed = await services.control.credentials.renew(stored, credential);
          return renewed && toDestination(stored, renewed, context, model);
        },
      }),
    },
  };
}

/** Whether secrets of a stored provider lie in an external store. */
function lieOutside({ integration: { secretMappings } }: StoredProvider): boolean {
  return Array.isArray(secretMappings) && secretMappings.length > 0;
}

/** Which models stored providers allow and what these take, by view, as text. */
const rules = new WeakMap<StoredProvider, string>();

function rulesOf(stored: StoredProvider): string {
  const known = rules.get(stored);
  if (known !== undefined) return known;
  const { integration, models } = stored;
  const text = JSON.stringify([
    integration.allowAllModels,
    [...models].map(([slug, { enabled, modelFacts }]) => [slug, enabled, modelFacts]),
  ]);
  rules.set(stored, text);
  return text;
}

/** Lists of models, with the credential whose settings name them, by stored provider of a view. */
const lists = new WeakMap<StoredProvider, { list: ModelList; credential: ManagedCredential }>();

function listOf(stored: StoredProvider, provider: BoundProvider, credential: ManagedCredential): ModelList {
  const known = lists.get(stored);
  if (known?.credential === credential) return known.list;
  const list = createModelList(stored, provider);
  lists.set(stored, { list, credential });
  return list;
}

/** The decrypted credential; a failure is not the caller's, and its error does not say why. */
async function openCredential(
  stored: StoredProvider,
  { control }: Pick<Services, "control">,
): Promise<ManagedCredential> {
  try {
    return await control.credentials.of(stored);
  } catch (cause) {
    if (!(cause instanceof CredentialUnavailableError)) throw cause;
    throw new UnavailableError(`Cannot call ${stored.row.slug}: its credential is unavailable`, {
      cause,
      code: "credential_unavailable",
      retryAfterSeconds: 5,
    });
  }
}

function requireView(view: WorkspaceView | undefined): WorkspaceView {
  if (view) return view;
  throw new PermissionError("Forbidden! The workspace of this key is gone", { code: "AB03" });
}

/** @throws {UnavailableError} 503: the database cannot be read. */
export function refuseUnreadable(cause: unknown): never {
  throw new UnavailableError("Cannot read the workspace of this key: the database does not respond", {
    cause,
    code: "database_unavailable",
    retryAfterSeconds: 1,
  });
}

/** The view of the caller's workspace; synchronous when it is in memory. */
export function readView({ principal, services }: CallerContext): WorkspaceView | Promise<WorkspaceView> {
  const { organisationId, workspaceId } = principal;
  if (workspaceId === null) return requireView(undefined);
  const view = services.control.directory.workspace({ organisationId, workspaceId });
  return view instanceof Promise ? view.then(requireView, refuseUnreadable) : requireView(view);
}

/**
 * Where a request to a stored provider goes. References resolve inside the caller's workspace only.
 *
 * @param name The reference; its model wins over `asked`, the one the request names without a reference.
 * @throws {GatewayError} 400 for providers and models the workspace does not have, 401, 403 or 412 for those it may not
 * use now.
 */
export async function readStoredDestination(
  name: StoredName,
  context: CallerContext,
  asked: string | undefined,
): Promise<Destination> {
  const { services } = context;
  if (context.header("custom-host") !== null) {
    throw new InvalidRequestError(
      "Cannot use x-gateway-custom-host with a stored provider: set custom_host on its integration",
      { param: "x-gateway-custom-host", code: "invalid_custom_host" },
    );
  }
  const view = await readView(context);
  const stored = view.providers.get(name.slug) ?? refuseNames([name.slug]);
  const model = name.model ?? asked;
  requireUsableProvider(stored, services.clock.now());
  const credential = await openCredential(stored, services);
  const destination = toDestination(stored, credential, context, model);
  if (model !== undefined) requireModel(destination, model);
  return destination;
}
