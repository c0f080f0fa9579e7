/** The gateway and its database library are loaded as they are, not bundled. */
export default { serverExternalPackages: ["@gateway/gateway", "libsql", "@libsql/client"] };
