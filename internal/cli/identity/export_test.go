package identity

// Page is identitiesPage.
const Page = identitiesPage
