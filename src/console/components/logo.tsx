export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" rx="4" fill="#4f46e5" />
      <path d="M4 4h3v3H4zM9 4h3v3H9zM4 9h3v3H4z" fill="#fff" />
      <path d="M9 9h3v3H9z" fill="#a5b4fc" />
    </svg>
  );
}
