terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
module "m" {
  source = "./m"
}
removed {
  from = lab_widget.w
  lifecycle {
    destroy = true
  }
}
removed {
  from = lab_widget.w
  lifecycle {
    destroy = false
  }
}
removed {
  from = module.m.lab_widget.y
  lifecycle {
    destroy = true
  }
}
