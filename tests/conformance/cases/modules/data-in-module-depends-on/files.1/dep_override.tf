module "m" {
  name       = lab_thing.a.name
  depends_on = []
}
