run "unlisted" {}
