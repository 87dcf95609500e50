run "made" {}
