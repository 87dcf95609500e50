run "fine" {}
