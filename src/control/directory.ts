import { anyResource, type Change } from "../db/stores/audit.ts";
import type { ControlStores } from "../db/stores/control.ts";
import type { Tenant } from "../db/tenant-store.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import {
  createAssembler,
  type Resource,
  type ResourceName,
  resources,
  type Slices,
  type WorkspaceView,
} from "./resources.ts";
import type { ContentOpener } from "./sealed-contents.ts";

type WorkspaceTenant = Tenant & { workspaceId: string };

/** The control plane as the request path sees it: in memory, and what changed is read again when it is next asked for. */
export interface Directory {
  /**
   * The view of a workspace; at once when nothing of it changed. Undefined when there is no such workspace or it is archived.
   * While the database is away the last view is served.
   */
  workspace(tenant: WorkspaceTenant): WorkspaceView | undefined | Promise<WorkspaceView | undefined>;
  /** Drops what changed. */
  forget(changes: readonly Change[]): void;
  /** Drops everything, when it is not known what changed. */
  forgetAll(): void;
}

/** Most workspaces in memory, and most organisations. */
const maxHeld = 5_000;

const allResources = Object.entries(resources) as [ResourceName, Resource][]; // the names are those of the table
const ofWorkspace = allResources.filter(([, { scope }]) => scope === "workspace");
const ofOrganisation = allResources.filter(([, { scope }]) => scope !== "workspace");

/** A reading that is under way. */
interface Reading<Value> {
  /** Count of changes when it began: it may miss later ones. */
  begun: number;
  value: Promise<Value>;
}

/** What is in memory of one resource of one workspace, or of one organisation. */
class Slot {
  /** Count of changes when the value's reading began; -1 before the first. */
  #readAt = -1;
  #value: unknown;
  #reading: Reading<unknown> | undefined;
  /** Count of the last change that concerns it. */
  changedAt = 0;

  /** The value, read again if its reading began before the last change. */
  get(changedAt: number, now: number, read: () => Promise<unknown>): unknown {
    if (this.#readAt >= changedAt) return this.#value;
    if (this.#reading && this.#reading.begun >= changedAt) return this.#reading.value;
    const reading = { begun: now, value: this.#read(now, read) };
    this.#reading = reading;
    const end = () => {
      if (this.#reading === reading) this.#reading = undefined;
    };
    reading.value.then(end, end);
    return reading.value;
  }

  async #read(begun: number, read: () => Promise<unknown>): Promise<unknown> {
    const value = await read();
    if (begun > this.#readAt) {
      this.#readAt = begun;
      this.#value = value;
    }
    return value;
  }
}

type Slots = ReadonlyMap<ResourceName, Slot>;

function createSlots(list: readonly [ResourceName, Resource][]): Slots {
  return new Map(list.map(([name]) => [name, new Slot()]));
}

/** What is in memory of an organisation. */
interface HeldOrganisation {
  slots: Slots;
  /** Count of changes when it was made: what was read before may have missed some. */
  madeAt: number;
  /** Count of the last change that concerns all of its workspaces. */
  changedAt: number;
  /** The same by resource, of those that each workspace has for itself. */
  workspacesChangedAt: Map<ResourceName, number>;
}

/** What is in memory of a workspace. */
interface HeldWorkspace {
  organisationId: string;
  slots: Slots;
  /** Count of the last change that concerns it alone. */
  changedAt: number;
  assemble(slices: Slices): WorkspaceView | undefined;
  view: WorkspaceView | undefined;
  /** Count of changes when the view began to be made; -1 before the first. */
  viewedAt: number;
  reading: Reading<WorkspaceView | undefined> | undefined;
}

class MemoryDirectory implements Directory {
  readonly #stores: ControlStores;
  readonly #opener: ContentOpener;
  readonly #organisations = new BoundedMap<string, HeldOrganisation>(maxHeld);
  /** By the workspace's id, a random UUID that no tenant chooses. */
  readonly #workspaces = new BoundedMap<string, HeldWorkspace>(maxHeld);
  /** Resources by the kind of record whose writes make them stale. */
  readonly #resourcesOf = new Map<string, [ResourceName, Resource][]>();
  /** Changes so far. */
  #now = 0;

  constructor(stores: ControlStores, opener: ContentOpener) {
    this.#stores = stores;
    this.#opener = opener;
    this.#resourcesOf.set(anyResource, allResources);
    for (const entry of allResources) {
      for (const { resource } of entry[1].reads.map((name) => stores[name])) {
        if (resource === undefined) continue;
        this.#resourcesOf.set(resource, [...(this.#resourcesOf.get(resource) ?? []), entry]);
      }
    }
  }

  workspace(tenant: WorkspaceTenant): WorkspaceView | undefined | Promise<WorkspaceView | undefined> {
    const held = this.#workspaces.get(tenant.workspaceId);
    if (held && held.organisationId !== tenant.organisationId) return undefined;
    const organisation = this.#organisations.get(tenant.organisationId);
    const isCurrent =
      held && organisation && held.viewedAt >= held.changedAt && held.viewedAt >= organisation.changedAt;
    return isCurrent ? held.view : this.#refresh(tenant, organisation, held);
  }

  forget(changes: readonly Change[]): void {
    this.#now++;
    for (const change of changes) this.#forgetOne(change);
  }

  forgetAll(): void {
    this.#now++;
    this.#organisations.clear();
  }

  #forgetOne({ organisationId, workspaceId, resource }: Change): void {
    // without it, nothing that was read for the organisation or its workspaces counts
    if (resource === anyResource && workspaceId === undefined) this.#organisations.delete(organisationId);
    const organisation = this.#organisations.peek(organisationId);
    if (!organisation) return;
    const held = typeof workspaceId === "string" ? this.#workspaces.peek(workspaceId) : undefined;
    for (const [name, { scope }] of this.#resourcesOf.get(resource) ?? []) {
      const isAll = workspaceId === undefined;
      if (scope === "workspace") {
        if (isAll) this.#markAll(organisation, name);
        else if (held?.organisationId === organisationId) this.#mark(held, name);
      } else if (isAll || scope === "organisation" || workspaceId === null) this.#mark(organisation, name);
    }
  }

  /** Makes one resource stale, and with it every view that shows it. */
  #mark(held: HeldOrganisation | HeldWorkspace, name: ResourceName): void {
    const slot = held.slots.get(name);
    if (slot) slot.changedAt = this.#now;
    held.changedAt = this.#now;
  }

  #markAll(organisation: HeldOrganisation, name: ResourceName): void {
    organisation.workspacesChangedAt.set(name, this.#now);
    organisation.changedAt = this.#now;
  }

  #hold(tenant: WorkspaceTenant): HeldWorkspace {
    const held: HeldWorkspace = {
      organisationId: tenant.organisationId,
      slots: createSlots(ofWorkspace),
      changedAt: 0,
      assemble: createAssembler(),
      view: undefined,
      viewedAt: -1,
      reading: undefined,
    };
    this.#workspaces.set(tenant.workspaceId, held);
    return held;
  }

  #holdOrganisation(id: string): HeldOrganisation {
    const madeAt = ++this.#now;
    const held = { slots: createSlots(ofOrganisation), madeAt, changedAt: madeAt, workspacesChangedAt: new Map() };
    this.#organisations.set(id, held);
    return held;
  }

  #refresh(
    tenant: WorkspaceTenant,
    organisation = this.#holdOrganisation(tenant.organisationId),
    held = this.#hold(tenant),
  ): Promise<WorkspaceView | undefined> {
    const changedAt = Math.max(held.changedAt, organisation.changedAt);
    if (held.reading && held.reading.begun >= changedAt) return held.reading.value;
    const reading = { begun: this.#now, value: this.#read(tenant, organisation, held) };
    held.reading = reading;
    const end = () => {
      if (held.reading === reading) held.reading = undefined;
    };
    reading.value.then(end, end);
    return reading.value;
  }

  async #read(
    tenant: WorkspaceTenant,
    organisation: HeldOrganisation,
    held: HeldWorkspace,
  ): Promise<WorkspaceView | undefined> {
    const begun = this.#now;
    try {
      const view = held.assemble(await this.#readSlices(tenant, organisation, held));
      if (begun >= held.viewedAt) {
        held.view = view;
        held.viewedAt = begun;
      }
      return view;
    } catch (error) {
      if (held.viewedAt >= 0) return held.view;
      throw error;
    }
  }

  /** Every resource, those that are stale from the database. */
  async #readSlices(tenant: WorkspaceTenant, organisation: HeldOrganisation, held: HeldWorkspace): Promise<Slices> {
    const whole = { organisationId: tenant.organisationId, workspaceId: null };
    const read = async ([name, resource]: [ResourceName, Resource]): Promise<[ResourceName, unknown]> => {
      const own = held.slots.get(name);
      const slot = own ?? organisation.slots.get(name) ?? new Slot();
      const changedForAll = own ? (organisation.workspacesChangedAt.get(name) ?? organisation.madeAt) : 0;
      const changedAt = Math.max(slot.changedAt, changedForAll);
      const load = () => resource.read(this.#stores, own ? tenant : whole, this.#opener);
      return [name, await slot.get(changedAt, this.#now, load)];
    };
    // each name of the table with what its own loader gave
    return Object.fromEntries(await Promise.all(allResources.map(read))) as Slices;
  }
}

/** Creates the directory over the stores; `opener` opens what is sealed in contents. */
export function createDirectory(stores: ControlStores, opener: ContentOpener): Directory {
  return new MemoryDirectory(stores, opener);
}
