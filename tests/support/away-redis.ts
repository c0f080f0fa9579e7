/** Options of a gateway whose Redis is away. */
export const awayRedis = {
  redis: { url: "redis://127.0.0.1:1" },
  connectRedis: async () => ({
    run: () => Promise.reject(new Error("fake outage")),
    reconnect() {},
    close() {},
  }),
};
