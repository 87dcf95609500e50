provider "lab" {}
provider "oldlab" {}
run "mixed" {
  providers = {
    lab = oldlab
  }
}
