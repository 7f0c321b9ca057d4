// What stands on a page that cannot be shown.

export function Failure({ error }: { error: unknown }) {
  const reason = error instanceof Error ? error.message : String(error);
  return (
    <main class="failure">
      <div role="alert">
        <h1>This page cannot be shown</h1>
        <p>{reason}</p>
        <p>Make it again with <code>coldstart view</code>; if it was copied or sent, compare the two files' sizes.</p>
      </div>
    </main>
  );
}
