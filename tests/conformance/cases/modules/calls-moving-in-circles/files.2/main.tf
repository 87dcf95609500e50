module "c" {
  source = "./m"
}
moved {
  from = module.a
  to   = module.b
}
moved {
  from = module.b
  to   = module.a
}
