resource "lab_thing" "s" {
  name = "s"
}
module "m" {
  source = "./m"
  opt    = lab_thing.s.id == "" ? sensitive("x") : null
}
output "o" {
  value     = module.m.all
  sensitive = true
}
output "iss" {
  value = [issensitive(module.m.all.opt), issensitive(module.m.all.td), issensitive(module.m.all.echo)]
}
