removed {
  from = module.b
  lifecycle {
    destroy = true
  }
  provisioner "local-exec" {
    when    = destroy
    command = "x"
  }
}
