removed {
  from = module.a
  lifecycle {
    destroy = false
  }
}
removed {
  from = module.b.terraform_data.q
  lifecycle {
    destroy = true
  }
}
module "b" {
  source = "./b"
  count  = 2
}
