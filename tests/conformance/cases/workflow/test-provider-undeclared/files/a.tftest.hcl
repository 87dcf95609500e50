provider "lab" {
  region = "test"
}
run "setup" {
  module {
    source = "./setup"
  }
}
run "main" {}
