# oneDNN as the target OneDNN::OneDNN. Debian's own dnnl-config.cmake asks for OpenCL headers, which a CPU build has no use for.
find_path(OneDNN_INCLUDE_DIR NAMES dnnl.hpp PATH_SUFFIXES oneapi/dnnl)
find_library(OneDNN_LIBRARY NAMES dnnl)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR)
if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES
    IMPORTED_LOCATION "${OneDNN_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
endif()
