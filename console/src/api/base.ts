/** The path of a proxy that the page was served for; empty where the sources are served for development. */
const named = document.querySelector<HTMLMetaElement>('meta[name="base-path"]')?.content.match(/^\/.*/)?.[0] ?? "";

/** Whether a path is `/console` or below it. */
const isConsole = (path: string): boolean => path === "/console" || path.startsWith("/console/");

/** Path below which this page reaches the gateway; empty at the root, where the gateway can be opened beside its proxy. */
export const basePath: string =
  location.pathname.startsWith(named) && isConsole(location.pathname.slice(named.length)) ? named : "";

/** Address of the gateway, which the paths of its API follow. */
export const gatewayUrl: string = location.origin + basePath;

/** Where the console is. */
export const consolePath: string = `${basePath}/console`;
