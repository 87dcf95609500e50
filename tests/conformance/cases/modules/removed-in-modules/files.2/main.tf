removed {
  from = module.b
  lifecycle {
    destroy = false
  }
}
