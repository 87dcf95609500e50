provider "lab" {}
run "unlisted" {
  providers = {
    oldlab = oldlab
  }
}
