import { useNotifications } from "@mantine/notifications";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";

const Notifications = lazy(async () => ({ default: (await import("@mantine/notifications")).Notifications }));

/** The place of short messages. Its code is loaded with the first of them. */
export function Notices(): ReactNode {
  const { notifications } = useNotifications();
  const [isUsed, setUsed] = useState(false);
  useEffect(() => setUsed((before) => before || notifications.length > 0), [notifications]);
  return (
    isUsed && (
      <Suspense>
        <Notifications position="bottom-right" />
      </Suspense>
    )
  );
}
